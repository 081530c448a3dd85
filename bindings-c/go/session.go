package mcpresident

// #include <mcp_resident.h>
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"time"
)

// ProjectTrust says what of a project's file may be started: [TrustAll], [TrustNothing] or [TrustOnly].
type ProjectTrust struct{ form any }

var (
	// TrustAll starts everything.
	TrustAll = ProjectTrust{"all"}
	// TrustNothing starts nothing of the project's file. It is the default.
	TrustNothing = ProjectTrust{"nothing"}
)

// TrustOnly starts what has one of these fingerprints, which a person allowed.
func TrustOnly(fingerprints ...string) ProjectTrust {
	return ProjectTrust{append([]string{}, fingerprints...)}
}

// MarshalJSON gives the form that all languages share.
func (t ProjectTrust) MarshalJSON() ([]byte, error) {
	if t.form == nil {
		return json.Marshal(TrustNothing.form)
	}
	return json.Marshal(t.form)
}

// SessionOptions is what a session chooses. What is left out is what sessions want (SPEC 7.3).
type SessionOptions struct {
	// Options are those of a load. BaseDir, which has to be given, is what relative paths of both files are relative to; Wait
	// means nothing.
	Options
	// UserConfig is the user's file. One that is not there has no servers.
	UserConfig string
	// ProjectConfig is the project's file, laid over the user's.
	ProjectConfig string
	// ProjectTrust says what of the project's file may be started; nothing when it is left out.
	ProjectTrust ProjectTrust
	// Exposure is how tools are shown whose server says nothing about it: "direct", "hidden" or "deferred".
	Exposure string
	// ExchangeWait is how long an exchange waits for servers that are new or changed; 10 s when it is 0.
	ExchangeWait time.Duration
	// SecretCommands says whether values that begin with `!` are run; nil runs them.
	SecretCommands *bool
	// ValidateArguments says whether arguments are checked (SPEC 2.21); nil checks them.
	ValidateArguments *bool
}

// MarshalJSON gives the form that all languages share.
func (o SessionOptions) MarshalJSON() ([]byte, error) {
	form := struct {
		Options
		UserConfig        string       `json:"userConfig,omitempty"`
		ProjectConfig     string       `json:"projectConfig,omitempty"`
		ProjectTrust      ProjectTrust `json:"projectTrust"`
		Exposure          string       `json:"exposure,omitempty"`
		ExchangeWaitMS    int64        `json:"exchangeWaitMs,omitempty"`
		SecretCommands    *bool        `json:"secretCommands,omitempty"`
		ValidateArguments *bool        `json:"validateArguments,omitempty"`
	}{o.Options, o.UserConfig, o.ProjectConfig, o.ProjectTrust, o.Exposure, o.ExchangeWait.Milliseconds(), o.SecretCommands, o.ValidateArguments}
	return json.Marshal(form)
}

// UntrustedServer is what a project's file would start and nobody has allowed.
type UntrustedServer struct {
	Name string `json:"name"`
	// LaunchLine is what would be started, in one line without secrets.
	LaunchLine string `json:"launchLine"`
	// Fingerprint changes with everything that changes what would be started: what to trust it by.
	Fingerprint string `json:"fingerprint"`
}

// Session is the servers of a user and a project, used over many exchanges with a model, until [Session.Close].
type Session struct {
	// Source has the servers: their states, events and problems, and what can be done to each.
	Source *Source
}

// OpenSession reads the files of a session and connects their servers in the background (SPEC section 7). A file or an entry
// that cannot be used is among the source's problems.
func OpenSession(ctx context.Context, options SessionOptions) (*Session, error) {
	form, err := json.Marshal(options)
	if err != nil {
		return nil, &Error{Code: CodeConfig, Message: "the options cannot be written as JSON: " + err.Error()}
	}
	q := newQueue(options.WaitFor)
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		native, free := cString(string(form))
		defer free()
		var failure *C.mcpr_error
		return started(C.mcpr_session_open_start(q.native, native, C.bool(options.WaitFor != nil), &failure), failure)
	})
	if err := settled(ctx, ended, err); err != nil {
		q.release()
		return nil, err
	}
	shared := &handle{native: C.mcpr_session_source(ended.session), session: ended.session, queue: q}
	return &Session{Source: newSource(shared)}, nil
}

// Exchange is the tools of one exchange. They stay as they are, whatever servers do meanwhile.
type Exchange struct {
	// Tools are the tools to declare to the model, in an order that changes as little as it can.
	Tools []*Tool

	native C.mcpr_exchange
	source *Source
}

// Exchange begins an exchange: it waits for servers that are new or changed, and pins the tools that there are then.
func (s *Session) Exchange(ctx context.Context) (*Exchange, error) {
	ended, err := s.await(ctx, func(q *queue, failure **C.mcpr_error) C.uint64_t {
		return C.mcpr_session_exchange_start(q.native, s.Source.session, failure)
	})
	if err != nil {
		return nil, err
	}
	exchange := &Exchange{native: ended.exchange, source: s.Source}
	exchange.Tools = s.Source.list(func(tools *C.mcpr_tool, capacity C.size_t) C.size_t {
		return C.mcpr_exchange_tools(ended.exchange, tools, capacity)
	})
	runtime.SetFinalizer(exchange, func(exchange *Exchange) { C.mcpr_exchange_free(exchange.native) })
	return exchange, nil
}

// Tool is a tool by its name for models, hidden and deferred ones included, or nil.
func (e *Exchange) Tool(name string) *Tool {
	native, free := cString(name)
	defer free()
	number := C.mcpr_exchange_tool(e.native, native)
	runtime.KeepAlive(e)
	if number == 0 {
		return nil
	}
	return e.source.hold(number)
}

// Reload reads the files again. What changed counts from the next exchange on.
func (s *Session) Reload(ctx context.Context) (Reloaded, error) { return s.reload(ctx, nil) }

// Trust decides anew what of the project's file may be started, and reads the files again.
func (s *Session) Trust(ctx context.Context, choice ProjectTrust) (Reloaded, error) {
	return s.reload(ctx, &choice)
}

func (s *Session) reload(ctx context.Context, choice *ProjectTrust) (changes Reloaded, err error) {
	ended, err := s.await(ctx, func(q *queue, failure **C.mcpr_error) C.uint64_t {
		if choice == nil {
			return C.mcpr_session_reload_start(q.native, s.Source.session, nil, failure)
		}
		form, _ := choice.MarshalJSON()
		native, free := cString(string(form))
		defer free()
		return C.mcpr_session_reload_start(q.native, s.Source.session, native, failure)
	})
	if err != nil {
		return changes, err
	}
	return changes, json.Unmarshal([]byte(ended.json), &changes)
}

// Untrusted tells what the project's file would start and is not trusted, for a person to decide on.
func (s *Session) Untrusted() (servers []UntrustedServer) {
	form, _ := text(C.mcpr_session_untrusted(s.Source.session))
	_ = json.Unmarshal([]byte(form), &servers)
	return servers
}

// Close ends the session: nothing of its servers is left when it returns. Closing again is harmless.
func (s *Session) Close(ctx context.Context) error { return s.Source.Close(ctx) }

func (s *Session) await(ctx context.Context, start func(q *queue, failure **C.mcpr_error) C.uint64_t) (outcome, error) {
	q := s.Source.use()
	defer q.release()
	ended, err := q.await(ctx, nil, func() (uint64, error) {
		var failure *C.mcpr_error
		return started(start(q, &failure), failure)
	})
	return ended, settled(ctx, ended, err)
}
