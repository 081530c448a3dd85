package mcpresident

// #include <mcp_resident.h>
import "C"

import (
	"context"
	"encoding/json"
	"sync"
)

// forEverMS is how long a wait for deliveries lasts before it is begun again.
const forEverMS = 3_600_000

// outcome is how an operation ended.
type outcome struct {
	source   C.mcpr_source
	session  C.mcpr_session
	exchange C.mcpr_exchange
	result   *C.mcpr_result
	json     string
	err      error
}

// queue takes what arrives from the library, on one goroutine, as long as somebody uses it.
//
// There is one for each open source: it is made by the load and ends with the close, when its last use is released. So no
// goroutine outlives what it serves.
type queue struct {
	native C.mcpr_queue

	mutex   sync.Mutex
	users   int
	waiting map[uint64]chan outcome
	// observers of events by subscription, and of progress by operation; no two of these ids are the same.
	observers map[uint64]*observer
	waitFor   WaitFor
	questions map[uint64]context.CancelFunc
}

func newQueue(waitFor WaitFor) *queue {
	q := &queue{
		native:    C.mcpr_queue_new(),
		users:     1,
		waiting:   map[uint64]chan outcome{},
		observers: map[uint64]*observer{},
		questions: map[uint64]context.CancelFunc{},
		waitFor:   waitFor,
	}
	go q.run()
	return q
}

func (q *queue) retain() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.users++
}

// release gives up a use. With the last one the queue is freed, and its goroutine ends.
func (q *queue) release() {
	q.mutex.Lock()
	q.users--
	last := q.users == 0
	q.mutex.Unlock()
	if last {
		C.mcpr_queue_free(q.native)
	}
}

// await starts an operation and waits for its outcome, and until all of its progress has been told; the caller has a use of the
// queue. When the context is done it cancels, and still waits: the outcome of a cancelled operation comes at once.
func (q *queue) await(ctx context.Context, progress *observer, start func() (uint64, error)) (outcome, error) {
	done := make(chan outcome, 1)
	q.mutex.Lock()
	// Under the lock, so that the outcome finds who waits for it.
	operation, err := start()
	if err == nil {
		q.waiting[operation] = done
		if progress != nil {
			q.observers[operation] = progress
		}
	}
	q.mutex.Unlock()
	if err != nil {
		return outcome{}, err
	}
	var ended outcome
	select {
	case ended = <-done:
	case <-ctx.Done():
		C.mcpr_queue_cancel(q.native, C.uint64_t(operation))
		ended = <-done
	}
	if progress != nil {
		progress.drain()
	}
	return ended, nil
}

func (q *queue) run() {
	for {
		delivery := C.mcpr_queue_next(q.native, forEverMS)
		if delivery == nil {
			q.mutex.Lock()
			over := q.users == 0
			q.mutex.Unlock()
			if over {
				return
			}
			continue
		}
		q.hand(delivery)
		C.mcpr_delivery_free(delivery)
	}
}

func (q *queue) hand(delivery *C.mcpr_delivery) {
	id := uint64(C.mcpr_delivery_id(delivery))
	switch C.mcpr_delivery_kind(delivery) {
	case C.MCPR_KIND_LOADED:
		q.complete(id, outcome{source: C.mcpr_delivery_source(delivery)})
	case C.MCPR_KIND_OPENED:
		q.complete(id, outcome{session: C.mcpr_delivery_session(delivery)})
	case C.MCPR_KIND_EXCHANGED:
		q.complete(id, outcome{exchange: C.mcpr_delivery_exchange(delivery)})
	case C.MCPR_KIND_CALLED:
		q.complete(id, outcome{result: C.mcpr_delivery_result(delivery)})
	case C.MCPR_KIND_DONE:
		value, _ := text(C.mcpr_delivery_json(delivery))
		q.complete(id, outcome{json: value})
	case C.MCPR_KIND_FAILED:
		q.complete(id, outcome{err: takeError(C.mcpr_delivery_error(delivery))})
	case C.MCPR_KIND_PROGRESS, C.MCPR_KIND_EVENT:
		form, _ := text(C.mcpr_delivery_json(delivery))
		q.mutex.Lock()
		told := q.observers[id]
		q.mutex.Unlock()
		if told != nil {
			told.add(form)
		}
	case C.MCPR_KIND_QUESTION:
		request, _ := text(C.mcpr_delivery_json(delivery))
		q.ask(id, request)
	case C.MCPR_KIND_QUESTION_ENDED:
		q.mutex.Lock()
		cancel := q.questions[id]
		q.mutex.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

func (q *queue) complete(operation uint64, ended outcome) {
	q.mutex.Lock()
	done := q.waiting[operation]
	delete(q.waiting, operation)
	delete(q.observers, operation)
	q.mutex.Unlock()
	done <- ended
}

// ask asks the host on a goroutine of its own: a person may take minutes.
func (q *queue) ask(question uint64, form string) {
	ctx, cancel := context.WithCancel(context.Background())
	q.mutex.Lock()
	q.questions[question] = cancel
	q.users++
	q.mutex.Unlock()
	go func() {
		defer q.release()
		defer cancel()
		var request Request
		_ = json.Unmarshal([]byte(form), &request)
		answer := q.answer(ctx, request)
		id, freeID := cString(request.ID)
		defer freeID()
		given, freeGiven := cString(answer)
		defer freeGiven()
		q.mutex.Lock()
		delete(q.questions, question)
		q.mutex.Unlock()
		C.mcpr_queue_answer(q.native, C.uint64_t(question), id, given)
	}()
}

// answer asks, and gives the JSON form of the answer. A host that fails or panics has not agreed.
func (q *queue) answer(ctx context.Context, request Request) (form string) {
	form = `{"ok":false,"reason":"cancelled"}`
	defer func() { _ = recover() }()
	answer, err := q.waitFor(ctx, request)
	if err != nil {
		return form
	}
	if written, err := json.Marshal(answer); err == nil {
		form = string(written)
	}
	return form
}
