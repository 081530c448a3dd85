package mcpresident

// #include <mcp_resident.h>
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"time"
)

// State is where a server stands.
type State string

// The states of a server.
const (
	Stopped  State = "stopped"
	Starting State = "starting"
	Running  State = "running"
	Errored  State = "error"
)

// Status is how a server's newest attempt to connect ended: "connected", "failed" or "disabled".
type Status string

// ServerInfo is what is known of one server.
type ServerInfo struct {
	Server     string `json:"server"`
	State      State  `json:"state"`
	Status     Status `json:"status"`
	Generation uint64 `json:"generation"`
	Restarts   uint32 `json:"restarts"`
	ProcessID  int    `json:"processId"`
	LastError  *Error `json:"lastError"`
}

// Event is one thing that happened to a server. Raw has what its kind has.
type Event struct {
	Sequence   uint64 `json:"sequence"`
	AtMS       int64  `json:"atMs"`
	Server     string `json:"server"`
	Generation uint64 `json:"generation"`
	Kind       string `json:"event"`
	// To is the new state, of an event of the kind "state".
	To State `json:"to"`
	// Raw is the whole event as JSON.
	Raw json.RawMessage `json:"-"`
}

// Problem is what is wrong in a configuration, and where.
type Problem struct {
	Origin  string `json:"origin"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Server  string `json:"server"`
	Field   string `json:"field"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Source is the servers of a configuration, kept usable until [Source.Close]. It may be used from any goroutine.
type Source struct {
	*handle

	mutex sync.Mutex
	tools map[C.mcpr_tool]*Tool
}

// handle is what a source and its tools share. It refers to none of them: what refers to itself is not finalized.
type handle struct {
	native C.mcpr_source
	// session is 0 unless the source belongs to one, with which it is freed.
	session C.mcpr_session

	mutex sync.Mutex
	// queue is nil once the source is closed.
	queue *queue
}

// use gives a use of the source's queue, which the caller releases. A closed source has none, and answers through one that
// lasts for the answer.
func (h *handle) use() *queue {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.queue == nil {
		return newQueue(nil)
	}
	h.queue.retain()
	return h.queue
}

// retire takes the queue away. Only the first caller gets it.
func (h *handle) retire() *queue {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	q := h.queue
	h.queue = nil
	return q
}

// abandon frees what a collected source holds. One that was not closed is closed by that.
func (h *handle) abandon() {
	if h.session != 0 {
		C.mcpr_session_free(h.session)
	} else {
		C.mcpr_source_free(h.native)
	}
	if q := h.retire(); q != nil {
		q.release()
	}
}

// Load connects every server of a configuration and lists its tools. A server that cannot be connected is "failed" and
// costs the others nothing. When the context is done nothing of the load is left, and its error is returned.
func Load(ctx context.Context, config Config, options *Options) (*Source, error) {
	if options == nil {
		options = &Options{}
	}
	q := newQueue(options.WaitFor)
	ended, err := q.request(ctx, config, options, func(config, form *C.char, failure **C.mcpr_error) C.uint64_t {
		return C.mcpr_load_start(q.native, config, form, C.bool(options.WaitFor != nil), failure)
	})
	if err != nil {
		q.release()
		return nil, err
	}
	return newSource(&handle{native: ended.source, queue: q}), nil
}

func newSource(shared *handle) *Source {
	runtime.SetFinalizer(shared, (*handle).abandon)
	return &Source{handle: shared, tools: map[C.mcpr_tool]*Tool{}}
}

// InventoryTool is one tool of an inventory, under its own name.
type InventoryTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Raw         json.RawMessage `json:"raw"`
}

// InventoryEntry is one server of an inventory.
type InventoryEntry struct {
	Server string          `json:"server"`
	Status Status          `json:"status"`
	Error  *Error          `json:"error"`
	Tools  []InventoryTool `json:"tools"`
}

// ListTools connects every server that is not disabled, lists its tools, and disconnects.
func ListTools(ctx context.Context, config Config, options *Options) ([]InventoryEntry, error) {
	if options == nil {
		options = &Options{}
	}
	q := newQueue(options.WaitFor)
	defer q.release()
	ended, err := q.request(ctx, config, options, func(config, form *C.char, failure **C.mcpr_error) C.uint64_t {
		return C.mcpr_inventory_start(q.native, config, form, C.bool(options.WaitFor != nil), failure)
	})
	if err != nil {
		return nil, err
	}
	var entries []InventoryEntry
	return entries, json.Unmarshal([]byte(ended.json), &entries)
}

// request starts what takes a configuration and options.
func (q *queue) request(ctx context.Context, config Config, options *Options, start func(config, form *C.char, failure **C.mcpr_error) C.uint64_t) (outcome, error) {
	from, err := config.config()
	if err != nil {
		return outcome{}, unwritable(err)
	}
	form, err := json.Marshal(options)
	if err != nil {
		return outcome{}, &Error{Code: CodeConfig, Message: "the options cannot be written as JSON: " + err.Error()}
	}
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		nativeConfig, freeConfig := cString(from)
		defer freeConfig()
		nativeForm, freeForm := cString(string(form))
		defer freeForm()
		var failure *C.mcpr_error
		return started(start(nativeConfig, nativeForm, &failure), failure)
	})
	return ended, settled(ctx, ended, err)
}

func unwritable(err error) error {
	return &Error{Code: CodeConfig, Message: "the configuration cannot be written as JSON: " + err.Error()}
}

// settled is the error of an operation: the context's own when that was the reason.
func settled(ctx context.Context, ended outcome, err error) error {
	if err == nil {
		err = ended.err
	}
	if failure, ok := err.(*Error); ok && failure.Code == CodeCancelled && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Tools lists the tools of all servers, as they are now. A tool that did not change is the same as before.
func (s *Source) Tools() []*Tool {
	return s.list(func(tools *C.mcpr_tool, capacity C.size_t) C.size_t {
		return C.mcpr_source_tools(s.native, tools, capacity)
	})
}

// list holds the tools that read writes, for whom there may be more from one call to the next.
func (s *Source) list(read func(tools *C.mcpr_tool, capacity C.size_t) C.size_t) []*Tool {
	count := read(nil, 0)
	for {
		numbers := make([]C.mcpr_tool, count+1)
		found := read(&numbers[0], C.size_t(len(numbers)))
		if int(found) > len(numbers) {
			count = found
			continue
		}
		tools := make([]*Tool, found)
		for place := range tools {
			tools[place] = s.hold(numbers[place])
		}
		return tools
	}
}

// Tool is the tool that a model knows by this name, or nil.
func (s *Source) Tool(name string) *Tool {
	native, free := cString(name)
	defer free()
	number := C.mcpr_source_tool(s.native, native)
	if number == 0 {
		return nil
	}
	return s.hold(number)
}

func (s *Source) hold(number C.mcpr_tool) *Tool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	tool := s.tools[number]
	if tool == nil {
		tool = &Tool{native: number, source: s.handle}
		s.tools[number] = tool
	}
	return tool
}

func view[T any](s *Source, which C.int32_t) (value T) {
	form, _ := text(C.mcpr_source_json(s.native, which))
	_ = json.Unmarshal([]byte(form), &value)
	return value
}

// Status tells how the newest attempt of each server ended.
func (s *Source) Status() map[string]Status { return view[map[string]Status](s, C.MCPR_VIEW_STATUS) }

// Servers names all servers, in the order of the configuration.
func (s *Source) Servers() []string { return view[[]string](s, C.MCPR_VIEW_SERVERS) }

// Problems tells what is wrong in the configuration.
func (s *Source) Problems() []Problem { return view[[]Problem](s, C.MCPR_VIEW_PROBLEMS) }

// State tells where a server stands.
func (s *Source) State(server string) (State, error) {
	native, free := cString(server)
	defer free()
	var failure *C.mcpr_error
	state, ok := text(C.mcpr_source_state(s.native, native, &failure))
	if !ok {
		return "", takeError(failure)
	}
	return State(state), nil
}

// Info tells what is known of a server.
func (s *Source) Info(server string) (info ServerInfo, err error) {
	native, free := cString(server)
	defer free()
	var failure *C.mcpr_error
	form, ok := text(C.mcpr_source_info(s.native, native, &failure))
	if !ok {
		return info, takeError(failure)
	}
	return info, json.Unmarshal([]byte(form), &info)
}

// Events gives the newest events after a sequence, oldest first; 0 gives all that are kept.
func (s *Source) Events(after uint64) []Event {
	form, _ := text(C.mcpr_source_events(s.native, C.uint64_t(after)))
	var raw []json.RawMessage
	_ = json.Unmarshal([]byte(form), &raw)
	events := make([]Event, len(raw))
	for place := range raw {
		events[place] = eventOf(string(raw[place]))
	}
	return events
}

func eventOf(form string) Event {
	event := Event{Raw: json.RawMessage(form)}
	_ = json.Unmarshal(event.Raw, &event)
	return event
}

// Start connects a server, unless that is done or under way.
func (s *Source) Start(ctx context.Context, server string) error {
	return s.do(ctx, C.MCPR_ACTION_START, server)
}

// Stop disconnects a server and waits until nothing of it is left. Its tools stay listed.
func (s *Source) Stop(ctx context.Context, server string) error {
	return s.do(ctx, C.MCPR_ACTION_STOP, server)
}

// Restart disconnects a server and connects it again. Calls that run fail at once.
func (s *Source) Restart(ctx context.Context, server string) error {
	return s.do(ctx, C.MCPR_ACTION_RESTART, server)
}

// Refresh lists a server's tools again, or with an empty name those of all that are connected.
func (s *Source) Refresh(ctx context.Context, server string) error {
	return s.do(ctx, C.MCPR_ACTION_REFRESH, server)
}

func (s *Source) do(ctx context.Context, action C.int32_t, server string) error {
	q := s.use()
	defer q.release()
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		var native *C.char
		if server != "" {
			var free func()
			native, free = cString(server)
			defer free()
		}
		var failure *C.mcpr_error
		return started(C.mcpr_source_do_start(q.native, s.native, action, native, &failure), failure)
	})
	return settled(ctx, ended, err)
}

// Reloaded tells what a new configuration changed: names of servers, in the order of the configuration.
type Reloaded struct {
	// Added are new, or could not be used before.
	Added []string `json:"added"`
	// Removed are gone.
	Removed []string `json:"removed"`
	// Restarted are started in another way, or were switched on or off: they are connected anew.
	Restarted []string `json:"restarted"`
	// Adjusted have other settings on the connection that they have.
	Adjusted []string `json:"adjusted"`
}

// Reload takes a new configuration in the place of the one that is there; with nil it reads the file again that was loaded.
// What is started in the same way keeps its connection; Reload waits for the others as the load did. A configuration that
// cannot be used as a whole is an error, and changes nothing (SPEC 2.22).
func (s *Source) Reload(ctx context.Context, config Config) (changes Reloaded, err error) {
	q := s.use()
	defer q.release()
	var from string
	if config != nil {
		if from, err = config.config(); err != nil {
			return changes, unwritable(err)
		}
	}
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		var native *C.char
		if config != nil {
			var free func()
			native, free = cString(from)
			defer free()
		}
		var failure *C.mcpr_error
		return started(C.mcpr_source_reload_start(q.native, s.native, native, &failure), failure)
	})
	if err := settled(ctx, ended, err); err != nil {
		return changes, err
	}
	return changes, json.Unmarshal([]byte(ended.json), &changes)
}

// WaitFor waits until a server is in one of these states, for at most so long.
func (s *Source) WaitFor(ctx context.Context, server string, limit time.Duration, states ...State) (State, error) {
	names := make([]string, len(states))
	for place, state := range states {
		names[place] = string(state)
	}
	q := s.use()
	defer q.release()
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		nativeServer, freeServer := cString(server)
		defer freeServer()
		nativeStates, freeStates := cString(strings.Join(names, ","))
		defer freeStates()
		var failure *C.mcpr_error
		operation := C.mcpr_source_wait_for_start(q.native, s.native, nativeServer, nativeStates, milliseconds(limit), &failure)
		return started(operation, failure)
	})
	if err := settled(ctx, ended, err); err != nil {
		return "", err
	}
	return State(strings.Trim(ended.json, `"`)), nil
}

// OnStateChange calls observe at each change of a state, in order, on a goroutine. The function that it returns ends that.
func (s *Source) OnStateChange(observe func(server string, state State)) (func(), error) {
	return s.observe(C.MCPR_INTEREST_STATES, func(event Event) { observe(event.Server, event.To) })
}

// OnToolsChange calls observe with the server's name when its part of the list changed.
func (s *Source) OnToolsChange(observe func(server string)) (func(), error) {
	return s.observe(C.MCPR_INTEREST_TOOLS, func(event Event) { observe(event.Server) })
}

// OnEvent calls observe at each event, in order, on a goroutine.
func (s *Source) OnEvent(observe func(event Event)) (func(), error) {
	return s.observe(C.MCPR_INTEREST_EVERYTHING, observe)
}

func (s *Source) observe(interest C.int32_t, tell func(event Event)) (func(), error) {
	told := newObserver(func(form string) { tell(eventOf(form)) })
	q := s.use()
	defer q.release()
	q.mutex.Lock()
	// Under the lock, so that the first event finds its observer.
	var failure *C.mcpr_error
	number, err := started(C.mcpr_source_subscribe(q.native, s.native, interest, &failure), failure)
	if err == nil {
		q.observers[number] = told
	}
	q.mutex.Unlock()
	if err != nil {
		return nil, err
	}
	return func() {
		C.mcpr_source_unsubscribe(s.native, C.uint64_t(number))
		q.mutex.Lock()
		delete(q.observers, number)
		q.mutex.Unlock()
		told.end()
	}, nil
}

// Close disconnects every server and waits until nothing of them is left, observers of the close included. Closing again is
// harmless. It is not cut short by the context, which would leave processes behind.
func (s *Source) Close(ctx context.Context) error {
	err := s.do(context.WithoutCancel(ctx), C.MCPR_ACTION_CLOSE, "")
	if err != nil {
		return err
	}
	if q := s.retire(); q != nil {
		q.mutex.Lock()
		observers := q.observers
		q.observers = map[uint64]*observer{}
		q.mutex.Unlock()
		for _, told := range observers {
			told.drain()
		}
		q.release()
	}
	return nil
}

// ShutDown closes every source of this process and waits at most so long until nothing of the library runs. Returns whether
// nothing does.
func ShutDown(limit time.Duration) bool {
	return bool(C.mcpr_shut_down(C.uint64_t(max(limit, 0).Milliseconds())))
}
