package mcpresident

// #include <mcp_resident.h>
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"time"
	"unsafe"
)

// Tool is one tool of one server, under the name that a model sees. It stays usable however often its server is restarted.
type Tool struct {
	native C.mcpr_tool
	// Who has only a tool still has its source, which is closed when it is collected.
	source *handle
}

func (t *Tool) fact(which C.int32_t) string {
	fact, _ := text(C.mcpr_tool_text(t.native, which))
	runtime.KeepAlive(t.source)
	return fact
}

// Name is the name for a model: at most 64 characters of [A-Za-z0-9_-], unique in its source.
func (t *Tool) Name() string { return t.fact(C.MCPR_FACT_NAME) }

// Description is what the tool does, in the server's words.
func (t *Tool) Description() string { return t.fact(C.MCPR_FACT_DESCRIPTION) }

// Title is the tool's title for people, or empty.
func (t *Tool) Title() string { return t.fact(C.MCPR_FACT_TITLE) }

// Server is the server's name in the configuration.
func (t *Tool) Server() string { return t.fact(C.MCPR_FACT_SERVER) }

// ServerTool is the tool's own name on its server.
func (t *Tool) ServerTool() string { return t.fact(C.MCPR_FACT_SERVER_TOOL) }

// InputSchema is the schema of arguments for a model, a closed object.
func (t *Tool) InputSchema() json.RawMessage {
	return json.RawMessage(t.fact(C.MCPR_FACT_INPUT_SCHEMA))
}

// ServerSchema is the schema of arguments as the server gave it.
func (t *Tool) ServerSchema() json.RawMessage {
	return json.RawMessage(t.fact(C.MCPR_FACT_SERVER_SCHEMA))
}

// OutputSchema is the schema of structured content; empty when the server gave none.
func (t *Tool) OutputSchema() json.RawMessage {
	return json.RawMessage(t.fact(C.MCPR_FACT_OUTPUT_SCHEMA))
}

// Annotations are the server's hints about the tool, which are claims and not facts; empty when there are none.
func (t *Tool) Annotations() json.RawMessage { return json.RawMessage(t.fact(C.MCPR_FACT_ANNOTATIONS)) }

// CallError says why a call failed.
type CallError struct {
	// Kind is one of SPEC's kinds, such as "tool", "dropped" or "timeout".
	Kind string `json:"kind"`
	// Executed says whether the tool may have had its effect: "no", "yes" or "unknown".
	Executed string          `json:"executed"`
	Message  string          `json:"message"`
	Code     *int64          `json:"code,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	// Exit is how the server's process ended, when that ended the call.
	Exit *struct {
		Code   *int `json:"code,omitempty"`
		Signal *int `json:"signal,omitempty"`
	} `json:"exit,omitempty"`
	StderrTail string `json:"stderrTail,omitempty"`
}

// Metadata says who was called, and why it failed.
type Metadata struct {
	Server string     `json:"server"`
	Tool   string     `json:"tool"`
	Error  *CallError `json:"error,omitempty"`
	// FullOutput is what Output is the beginning of, when it was cut (SPEC 2.23).
	FullOutput *FullOutput `json:"fullOutput"`
	// Files are what of the result is no text and was saved.
	Files []SavedFile `json:"files"`
}

// FullOutput is a text that was too long for a model.
type FullOutput struct {
	Bytes int `json:"bytes"`
	// File is where it is until the source is closed; empty when the host named no place.
	File string `json:"file"`
}

// SavedFile is a block of a result that holds bytes. It is there until the source is closed.
type SavedFile struct {
	File      string `json:"file"`
	MediaType string `json:"mediaType"`
	Bytes     int    `json:"bytes"`
}

// Result is what a call gave: the text for a model, and everything that came with it.
type Result struct {
	// Output is the text for a model.
	Output string
	// IsError says whether the call failed, for whatever reason.
	IsError  bool
	Metadata Metadata
	// RawMetadata is the metadata as JSON.
	RawMetadata json.RawMessage
	// Raw is the whole result as the server sent it; empty when it sent none.
	Raw json.RawMessage
}

// CallOption says something about one call.
type CallOption func(*callOptions)

type callOptions struct {
	// timeout in milliseconds; 0 takes the server's own.
	timeout  C.double
	progress *observer
}

// WithTimeout is how long the server may be silent. Progress starts it anew.
func WithTimeout(timeout time.Duration) CallOption {
	// One that was given is never the server's own, also when it is nothing.
	return func(options *callOptions) { options.timeout = milliseconds(max(timeout, time.Nanosecond)) }
}

// WithProgress is told of progress, in order and before the call returns: the params of each notification. It runs on a
// goroutine of its own; the call returns when it has been told of everything.
func WithProgress(tell func(params json.RawMessage)) CallOption {
	return func(options *callOptions) {
		options.progress = newObserver(func(params string) { tell(json.RawMessage(params)) })
	}
}

// Call calls the tool and waits for its result. Arguments are what encoding/json writes as an object, a json.RawMessage, or
// nil.
//
// What a server did is never an error: every failure is a [Result] with IsError, a call that was cancelled by the context
// included. An error says that the arguments cannot be written, or that the process was forked.
func (t *Tool) Call(ctx context.Context, arguments any, options ...CallOption) (*Result, error) {
	var chosen callOptions
	for _, option := range options {
		option(&chosen)
	}
	given, err := argumentsOf(arguments)
	if err != nil {
		return nil, &Error{Code: CodeConfig, Message: "the arguments cannot be written as JSON: " + err.Error()}
	}
	q := t.source.use()
	defer q.release()
	start := func() (uint64, error) {
		var failure *C.mcpr_error
		var native *C.char
		if len(given) > 0 {
			native = (*C.char)(unsafe.Pointer(&given[0]))
		}
		operation := C.mcpr_tool_call_start(q.native, t.native, native, C.size_t(len(given)), chosen.timeout, C.bool(chosen.progress != nil), &failure)
		return started(operation, failure)
	}
	ended, err := q.await(ctx, chosen.progress, start)
	runtime.KeepAlive(t.source)
	if err != nil {
		return nil, err
	}
	if ended.err != nil {
		return nil, ended.err
	}
	return takeResult(ended.result)
}

func argumentsOf(arguments any) ([]byte, error) {
	switch given := arguments.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return given, nil
	default:
		return json.Marshal(given)
	}
}

func takeResult(native *C.mcpr_result) (*Result, error) {
	defer C.mcpr_result_free(native)
	result := &Result{IsError: bool(C.mcpr_result_is_error(native))}
	result.Output, _ = text(C.mcpr_result_output(native))
	if raw, ok := text(C.mcpr_result_raw(native)); ok {
		result.Raw = json.RawMessage(raw)
	}
	metadata, _ := text(C.mcpr_result_metadata(native))
	result.RawMetadata = json.RawMessage(metadata)
	return result, json.Unmarshal(result.RawMetadata, &result.Metadata)
}
