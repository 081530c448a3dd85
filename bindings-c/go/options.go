package mcpresident

import (
	"context"
	"encoding/json"
	"time"
)

// Config is where a configuration comes from: [File] or [Object].
type Config interface{ config() (string, error) }

// File is the path of an mcp.json.
type File string

func (f File) config() (string, error) { return string(f), nil }

// Object is the content of an mcp.json: anything that encoding/json writes as an object.
func Object(value any) Config { return object{value} }

type object struct{ value any }

func (o object) config() (string, error) {
	written, err := json.Marshal(o.value)
	return string(written), err
}

// AutoRestart says whether and how a lost server is started again by itself. Zero fields take the defaults.
type AutoRestart struct {
	Off        bool
	MaxRetries int
	Backoff    time.Duration
}

// MarshalJSON gives the form that all languages share.
func (a AutoRestart) MarshalJSON() ([]byte, error) {
	if a.Off {
		return []byte("false"), nil
	}
	form := map[string]int64{}
	if a.MaxRetries > 0 {
		form["maxRetries"] = int64(a.MaxRetries)
	}
	if a.Backoff > 0 {
		form["backoffMs"] = a.Backoff.Milliseconds()
	}
	return json.Marshal(form)
}

// Wait says for how many servers a load waits: [WaitAll], [WaitReady], [WaitNone] or [WaitAtMost].
type Wait struct{ form any }

var (
	// WaitAll waits for all servers. It is the default.
	WaitAll = Wait{"all"}
	// WaitReady waits until no further server is about to be connected.
	WaitReady = Wait{"ready"}
	// WaitNone waits for none.
	WaitNone = Wait{"none"}
)

// WaitAtMost waits for all servers, but no longer than this.
func WaitAtMost(limit time.Duration) Wait { return Wait{limit.Milliseconds()} }

// MarshalJSON gives the form that all languages share.
func (w Wait) MarshalJSON() ([]byte, error) { return json.Marshal(w.form) }

// ClientInfo is how this host introduces itself.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Options is what a host chooses. Without any of it nothing restarts, nothing is followed, and everything is inherited.
type Options struct {
	// WaitFor asks a person on behalf of a server. Only with it are servers told that they may ask.
	WaitFor WaitFor `json:"-"`
	// Resident is one switch for hosts that run for days: restart, live list, safe environment, expansion in all fields.
	Resident bool `json:"resident,omitempty"`
	// AutoRestart starts a lost server again.
	AutoRestart *AutoRestart `json:"autoRestart,omitempty"`
	// LiveToolList fetches a list again that a server says it changed.
	LiveToolList *bool `json:"liveToolList,omitempty"`
	// DefaultInheritEnv names the variables that servers without their own inheritEnv inherit; nil inherits all.
	DefaultInheritEnv *[]string `json:"defaultInheritEnv,omitempty"`
	// Expand is "headers" or "all".
	Expand string `json:"expand,omitempty"`
	// Wait says for how many servers the load waits.
	Wait *Wait `json:"wait,omitempty"`
	// BaseDir is what relative paths are relative to.
	BaseDir string `json:"baseDir,omitempty"`
	// CacheDir is where listings of lazy servers are kept.
	CacheDir string `json:"cacheDir,omitempty"`
	// SpillDir is where results are saved that are longer than maxOutputBytes, or no text, until the close (SPEC 2.23).
	SpillDir string `json:"spillDir,omitempty"`
	// LogDir is where mcp.log is written: what happens to servers, what they log, and their standard error (SPEC 2.24).
	LogDir string `json:"logDir,omitempty"`
	// Environment is what servers see in place of the process's variables.
	Environment map[string]string `json:"environment,omitempty"`
	// SecretCommands runs values that begin with `!`.
	SecretCommands bool `json:"secretCommands,omitempty"`
	// Limits are limits by the keys of SPEC section 4; the unit is in the key's name.
	Limits map[string]int64 `json:"limits,omitempty"`
	// Guardian says whether a host that is killed takes its servers with it. On unless this says no.
	Guardian *bool `json:"guardian,omitempty"`
	// ReplayRepeatableCalls sends a call again that was running when the connection was lost, when its tool says that this
	// does no harm.
	ReplayRepeatableCalls bool `json:"replayRepeatableCalls,omitempty"`
	// ValidateArguments checks the arguments of each call with its tool's own schema before anything is sent (SPEC 2.21).
	ValidateArguments bool `json:"validateArguments,omitempty"`
	// ClientInfo is how this host introduces itself.
	ClientInfo *ClientInfo `json:"clientInfo,omitempty"`
}

// Request is what a server asks a person.
type Request struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Prompt string          `json:"prompt"`
	URL    string          `json:"url,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	// ExpiresAt is when the question ends without an answer, in milliseconds since 1970.
	ExpiresAt int64 `json:"expiresAt"`
}

// Answer is a person's answer. Reason is "declined", "cancelled" or "expired" when it is not OK.
type Answer struct {
	OK     bool   `json:"ok"`
	Data   any    `json:"data,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// WaitFor asks a person, on a goroutine of its own, and may take as long as the person does. The context is done when no
// answer is needed any more. An error counts as a refusal.
type WaitFor func(ctx context.Context, request Request) (Answer, error)
