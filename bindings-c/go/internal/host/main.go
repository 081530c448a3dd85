// The host program for Go: does through the public API what the driver asks, and tells what it saw. What a host does is in
// the README of the fixtures.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	mcp "github.com/mcp-resident/mcp-resident/bindings-c/go"
)

type asked struct {
	ID         int64           `json:"id"`
	Do         string          `json:"do"`
	Config     json.RawMessage `json:"config"`
	Options    json.RawMessage `json:"options"`
	Asks       bool            `json:"asks"`
	Request    int64           `json:"request"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments"`
	TimeoutMS  *int64          `json:"timeoutMs"`
	Remembered *string         `json:"remembered"`
	Server     string          `json:"server"`
	States     []mcp.State     `json:"states"`
	After      uint64          `json:"after"`
	Label      string          `json:"label"`
	Since      string          `json:"since"`
	Question   int             `json:"question"`
	Answer     mcp.Answer      `json:"answer"`
	Choice     []string        `json:"choice"`
}

type host struct {
	mutex      sync.Mutex
	source     *mcp.Source
	session    *mcp.Session
	exchange   *mcp.Exchange
	running    map[int64]context.CancelFunc
	remembered map[string][]*mcp.Tool
	questions  []chan mcp.Answer
}

var output sync.Mutex

func tell(line map[string]any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(text.Bytes())
}

func (h *host) waitFor(ctx context.Context, request mcp.Request) (mcp.Answer, error) {
	h.mutex.Lock()
	answered := make(chan mcp.Answer, 1)
	h.questions = append(h.questions, answered)
	number := len(h.questions) - 1
	h.mutex.Unlock()
	tell(map[string]any{"question": number, "request": request})
	select {
	case answer := <-answered:
		return answer, nil
	case <-ctx.Done():
		return mcp.Answer{}, ctx.Err()
	}
}

// options are read into the type that a program would fill in; what it cannot hold is a defect of the type.
// of a session, beside the options of a load.
type sessionForm struct {
	UserConfig     string `json:"userConfig"`
	ProjectConfig  string `json:"projectConfig"`
	ProjectTrust   string `json:"projectTrust"`
	ExchangeWaitMS int64  `json:"exchangeWaitMs"`
}

func (h *host) options(asked asked) (*mcp.Options, sessionForm, error) {
	var form struct {
		mcp.Options
		sessionForm
		AutoRestart json.RawMessage `json:"autoRestart"`
		Wait        json.RawMessage `json:"wait"`
	}
	decoder := json.NewDecoder(bytes.NewReader(asked.Options))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&form); err != nil {
		return nil, form.sessionForm, err
	}
	options := form.Options
	switch text := string(form.AutoRestart); text {
	case "":
	case "true", "false":
		options.AutoRestart = &mcp.AutoRestart{Off: text == "false"}
	default:
		var numbers struct{ MaxRetries, BackoffMS int64 }
		if err := json.Unmarshal(form.AutoRestart, &numbers); err != nil {
			return nil, form.sessionForm, err
		}
		options.AutoRestart = &mcp.AutoRestart{MaxRetries: int(numbers.MaxRetries), Backoff: time.Duration(numbers.BackoffMS) * time.Millisecond}
	}
	switch text := string(form.Wait); text {
	case "":
	case `"all"`:
		options.Wait = &mcp.WaitAll
	case `"ready"`:
		options.Wait = &mcp.WaitReady
	case `"none"`:
		options.Wait = &mcp.WaitNone
	default:
		var limit int64
		if err := json.Unmarshal(form.Wait, &limit); err != nil {
			return nil, form.sessionForm, err
		}
		wait := mcp.WaitAtMost(time.Duration(limit) * time.Millisecond)
		options.Wait = &wait
	}
	if asked.Asks {
		options.WaitFor = h.waitFor
	}
	return &options, form.sessionForm, nil
}

func config(form json.RawMessage) mcp.Config {
	var path string
	if json.Unmarshal(form, &path) == nil {
		return mcp.File(path)
	}
	return mcp.Object(form)
}

// listed is the tools that all requests are about: an exchange's, once one was begun.
func (h *host) listed() []*mcp.Tool {
	if h.session == nil {
		return h.source.Tools()
	}
	if h.exchange == nil {
		return nil
	}
	return h.exchange.Tools
}

func (h *host) takeOver(source *mcp.Source, session *mcp.Session) error {
	h.source, h.session, h.exchange = source, session, nil
	_, err := source.OnEvent(func(event mcp.Event) { tell(map[string]any{"event": event.Raw}) })
	return err
}

func (h *host) find(name string, label *string) (*mcp.Tool, error) {
	var found *mcp.Tool
	if label == nil && h.exchange != nil {
		found = h.exchange.Tool(name)
	} else if label == nil {
		found = h.source.Tool(name)
	} else {
		h.mutex.Lock()
		for _, tool := range h.remembered[*label] {
			if tool.Name() == name {
				found = tool
			}
		}
		h.mutex.Unlock()
	}
	if found == nil {
		return nil, fmt.Errorf("there is no tool %q", name)
	}
	return found, nil
}

func message(failure *mcp.Error) any {
	if failure == nil {
		return nil
	}
	return failure.Message
}

func (h *host) carryOut(ctx context.Context, asked asked) (any, error) {
	switch asked.Do {
	case "load":
		options, _, err := h.options(asked)
		if err != nil {
			return nil, err
		}
		source, err := mcp.Load(ctx, config(asked.Config), options)
		if err != nil {
			return nil, err
		}
		return nil, h.takeOver(source, nil)
	case "open":
		options, form, err := h.options(asked)
		if err != nil {
			return nil, err
		}
		session, err := mcp.OpenSession(ctx, mcp.SessionOptions{
			Options: *options, UserConfig: form.UserConfig, ProjectConfig: form.ProjectConfig,
			ProjectTrust: map[string]mcp.ProjectTrust{"all": mcp.TrustAll}[form.ProjectTrust],
			ExchangeWait: time.Duration(form.ExchangeWaitMS) * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		return nil, h.takeOver(session.Source, session)
	case "exchange":
		exchange, err := h.session.Exchange(ctx)
		if err == nil {
			h.exchange = exchange
		}
		return nil, err
	case "untrusted":
		return h.session.Untrusted(), nil
	case "trust":
		return h.session.Trust(ctx, mcp.TrustOnly(asked.Choice...))
	case "inventory":
		options, _, err := h.options(asked)
		if err != nil {
			return nil, err
		}
		entries, err := mcp.ListTools(ctx, config(asked.Config), options)
		forms := []any{}
		for _, entry := range entries {
			forms = append(forms, map[string]any{"server": entry.Server, "status": entry.Status, "error": message(entry.Error), "tools": entry.Tools})
		}
		return forms, err
	case "execute":
		tool, err := h.find(asked.Tool, asked.Remembered)
		if err != nil {
			return nil, err
		}
		var arguments any
		if asked.Arguments != nil {
			arguments = asked.Arguments
		}
		var options []mcp.CallOption
		if asked.TimeoutMS != nil {
			options = append(options, mcp.WithTimeout(time.Duration(*asked.TimeoutMS)*time.Millisecond))
		}
		result, err := tool.Call(ctx, arguments, options...)
		if err != nil {
			return nil, err
		}
		return map[string]any{"output": result.Output, "isError": result.IsError, "metadata": result.RawMetadata}, nil
	case "start":
		return nil, h.source.Start(ctx, asked.Server)
	case "stop":
		return nil, h.source.Stop(ctx, asked.Server)
	case "restart":
		return nil, h.source.Restart(ctx, asked.Server)
	case "refresh":
		return nil, h.source.Refresh(ctx, asked.Server)
	case "reload":
		if h.session != nil {
			return h.session.Reload(ctx)
		}
		if asked.Config == nil {
			return h.source.Reload(ctx, nil)
		}
		return h.source.Reload(ctx, config(asked.Config))
	case "wait_for":
		return h.source.WaitFor(ctx, asked.Server, time.Duration(*asked.TimeoutMS)*time.Millisecond, asked.States...)
	case "close":
		return nil, h.source.Close(ctx)
	case "tools":
		forms := []any{}
		for _, tool := range h.listed() {
			forms = append(forms, map[string]any{
				"name": tool.Name(), "description": tool.Description(), "server": tool.Server(), "serverTool": tool.ServerTool(),
				"inputSchema": string(tool.InputSchema()), "serverSchema": string(tool.ServerSchema()),
			})
		}
		return forms, nil
	case "status":
		return h.source.Status(), nil
	case "state":
		return h.source.State(asked.Server)
	case "info":
		info, err := h.source.Info(asked.Server)
		return map[string]any{
			"state": info.State, "status": info.Status, "generation": info.Generation, "restarts": info.Restarts,
			"processId": info.ProcessID, "lastError": message(info.LastError),
		}, err
	case "problems":
		return h.source.Problems(), nil
	case "events":
		forms := []json.RawMessage{}
		for _, event := range h.source.Events(asked.After) {
			forms = append(forms, event.Raw)
		}
		return forms, nil
	case "remember":
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.remembered[asked.Label] = h.listed()
		return nil, nil
	case "same_tool":
		now, err := h.find(asked.Tool, nil)
		if err != nil {
			return nil, err
		}
		then, err := h.find(asked.Tool, &asked.Since)
		return now == then, err
	case "answer":
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.questions[asked.Question] <- asked.Answer
		return nil, nil
	}
	return nil, fmt.Errorf("no request is called %q", asked.Do)
}

func (h *host) take(line []byte) {
	var request asked
	if err := json.Unmarshal(line, &request); err != nil {
		panic(err)
	}
	if request.Do == "cancel" {
		h.mutex.Lock()
		if cancel := h.running[request.Request]; cancel != nil {
			cancel()
		}
		h.mutex.Unlock()
		tell(map[string]any{"id": request.ID, "ok": nil})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.mutex.Lock()
	h.running[request.ID] = cancel
	h.mutex.Unlock()
	go func() {
		defer cancel()
		value, err := h.carryOut(ctx, request)
		var failure *mcp.Error
		switch {
		case err == nil:
			tell(map[string]any{"id": request.ID, "ok": value})
		case errors.As(err, &failure):
			tell(map[string]any{"id": request.ID, "error": failure})
		case errors.Is(err, context.Canceled):
			tell(map[string]any{"id": request.ID, "error": mcp.Error{Code: mcp.CodeCancelled, Message: "cancelled: " + err.Error()}})
		default:
			tell(map[string]any{"id": request.ID, "error": mcp.Error{Code: "host", Message: err.Error()}})
		}
	}()
}

func main() {
	h := &host{running: map[int64]context.CancelFunc{}, remembered: map[string][]*mcp.Tool{}}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		h.take(line)
	}
	// Whoever writes a line finishes it.
	output.Lock()
}
