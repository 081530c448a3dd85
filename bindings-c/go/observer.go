package mcpresident

import "sync"

// observer tells one function of events, in order and on a goroutine of its own, which lives while events are waiting.
type observer struct {
	tell func(event string)

	mutex   sync.Mutex
	waiting []string
	telling bool
	ended   bool
	idle    *sync.Cond
}

func newObserver(tell func(event string)) *observer {
	o := &observer{tell: tell}
	o.idle = sync.NewCond(&o.mutex)
	return o
}

// add is bounded by the library, which leaves events out that wait for too long.
func (o *observer) add(event string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended {
		return
	}
	o.waiting = append(o.waiting, event)
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
		event := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.mutex.Unlock()
		o.tell(event)
	}
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
