package mcpresident

import (
	"log"
	"sync"
)

// maxWaiting is how many events, or notices of progress, wait for one function of the host. The others are left out (SPEC 6.5).
const maxWaiting = 4_096

// observer calls one function of the host with events or progress, in order and on a goroutine of its own, which lives while
// something waits. So the goroutine that takes deliveries never runs the host's code.
type observer struct {
	tell func(form string)

	mutex   sync.Mutex
	waiting []string
	telling bool
	ended   bool
	idle    *sync.Cond
}

func newObserver(tell func(form string)) *observer {
	o := &observer{tell: tell}
	o.idle = sync.NewCond(&o.mutex)
	return o
}

func (o *observer) add(form string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended || len(o.waiting) == maxWaiting {
		return
	}
	o.waiting = append(o.waiting, form)
	if !o.telling {
		o.telling = true
		go o.work()
	}
}

func (o *observer) work() {
	for {
		o.mutex.Lock()
		if len(o.waiting) == 0 {
			o.telling = false
			o.idle.Broadcast()
			o.mutex.Unlock()
			return
		}
		form := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.mutex.Unlock()
		o.tellOne(form)
	}
}

// tellOne reports a panic and goes on, as net/http does: the next event is told all the same.
func (o *observer) tellOne(form string) {
	defer func() {
		if cause := recover(); cause != nil {
			log.Printf("mcpresident: an observer panicked: %v", cause)
		}
	}()
	o.tell(form)
}

// end takes no further events, and those that wait are forgotten.
func (o *observer) end() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.ended = true
	o.waiting = nil
}

// drain waits until everything that was added has been told.
func (o *observer) drain() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for o.telling {
		o.idle.Wait()
	}
}
