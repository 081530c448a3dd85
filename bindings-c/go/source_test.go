package mcpresident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func fake(script string) Config {
	entry := map[string]any{"command": os.Getenv("MCP_RESIDENT_FIXTURES"), "args": []string{"fake", "--script", script}}
	return Object(map[string]any{"mcpServers": map[string]any{"s": entry}})
}

// limited is a context that fails the test by ending it, long after anything here is done.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func load(t *testing.T, script string, options *Options) *Source {
	t.Helper()
	source, err := Load(limited(t), fake(script), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return source
}

func call(t *testing.T, source *Source, tool string, arguments any, options ...CallOption) *Result {
	t.Helper()
	result, err := source.Tool(tool).Call(limited(t), arguments, options...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestTwoHundredCallsFromEightGoroutinesEachGetTheirOwnAnswer(t *testing.T) {
	source := load(t, "{}", nil)
	echo := source.Tool("s_echo")
	var all sync.WaitGroup
	for thread := 0; thread < 8; thread++ {
		all.Add(1)
		go func(thread int) {
			defer all.Done()
			for number := 0; number < 25; number++ {
				text := fmt.Sprintf("%d/%d", thread, number)
				result, err := echo.Call(limited(t), map[string]string{"text": text})
				if err != nil || result.Output != text {
					t.Error(result, err)
				}
			}
		}(thread)
	}
	all.Wait()
}

func TestFiftyCallsInFlightWhenTheServerIsKilled(t *testing.T) {
	source := load(t, "{}", &Options{Resident: true})
	kinds := make(chan string, 50)
	begun := make(chan struct{}, 50)
	for number := 0; number < 50; number++ {
		go func() {
			first := sync.Once{}
			progress := WithProgress(func(json.RawMessage) { first.Do(func() { begun <- struct{}{} }) })
			result, err := source.Tool("s_sleep").Call(limited(t), json.RawMessage(`{"ms":60000,"progress_ms":1}`), progress)
			if err != nil {
				t.Error(err)
				kinds <- err.Error()
				return
			}
			kinds <- result.Metadata.Error.Kind
		}()
	}
	for number := 0; number < 50; number++ {
		<-begun
	}
	info, err := source.Info("s")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(info.ProcessID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for number := 0; number < 50; number++ {
		if kind := <-kinds; kind != "dropped" {
			t.Error(kind)
		}
	}
	if result := call(t, source, "s_echo", map[string]string{"text": "back"}); result.Output != "back" {
		t.Error(result.Output)
	}
}

func TestAContextEndsCallsWithAResultAndLoadsWithItsError(t *testing.T) {
	source := load(t, "{}", nil)
	for _, early := range []bool{true, false} {
		ctx, cancel := context.WithCancel(limited(t))
		if early {
			cancel()
		} else {
			time.AfterFunc(time.Millisecond, cancel)
		}
		result, err := source.Tool("s_sleep").Call(ctx, json.RawMessage(`{"ms":60000}`))
		cancel()
		if err != nil || result.Metadata.Error.Kind != "cancelled" {
			t.Error(result, err)
		}
	}
	ctx, cancel := context.WithTimeout(limited(t), 10*time.Millisecond)
	defer cancel()
	if _, err := Load(ctx, fake(`{"never_answer": ["initialize"]}`), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestNothingIsLeftAfterTheClose(t *testing.T) {
	count := func() (goroutines, descriptors int) {
		entries, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine(), len(entries)
	}
	use := func() {
		source, err := Load(limited(t), fake("{}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.OnEvent(func(Event) {}); err != nil {
			t.Fatal(err)
		}
		call(t, source, "s_echo", map[string]string{"text": "x"})
		for range 2 {
			if err := source.Close(limited(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	use()
	settle(t)
	goroutines, descriptors := count()
	for range 3 {
		use()
	}
	settle(t)
	// Sources are given back when they are collected.
	end := time.Now().Add(10 * time.Second)
	for {
		runtime.GC()
		now, open := count()
		if now <= goroutines && open <= descriptors {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d descriptors, before that %d and %d", now, open, goroutines, descriptors)
		}
		runtime.Gosched()
	}
}

func settle(t *testing.T) {
	t.Helper()
	runtime.GC()
	if !ShutDown(10 * time.Second) {
		t.Fatal("something still runs")
	}
}

func TestObserversAreToldInOrderBeforeTheCloseReturns(t *testing.T) {
	source := load(t, "{}", nil)
	var states []State
	if _, err := source.OnStateChange(func(server string, state State) { states = append(states, state) }); err != nil {
		t.Fatal(err)
	}
	var ended int
	end, err := source.OnEvent(func(Event) { ended++ })
	if err != nil {
		t.Fatal(err)
	}
	end()
	if err := source.Restart(limited(t), "s"); err != nil {
		t.Fatal(err)
	}
	if err := source.Close(limited(t)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(states); got != "[stopped starting running stopped]" || ended != 0 {
		t.Error(got, ended)
	}
}

func TestAHostFunctionThatPanicsHarmsNothing(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	source := load(t, "{}", nil)
	var events, notices int
	if _, err := source.OnEvent(func(Event) { events++; panic("an observer's own") }); err != nil {
		t.Fatal(err)
	}
	progress := WithProgress(func(json.RawMessage) { notices++; panic("the host's own") })
	result := call(t, source, "s_sleep", json.RawMessage(`{"ms":60,"progress_ms":10}`), progress)
	// All of it was told when the call returned.
	if result.IsError || notices < 2 {
		t.Error(result, notices)
	}
	if err := source.Close(limited(t)); err != nil {
		t.Fatal(err)
	}
	if events < 2 {
		t.Error(events)
	}
}

func TestTimeoutsAreNeverTheServersOwnWhenOneIsGiven(t *testing.T) {
	source := load(t, "{}", nil)
	for _, timeout := range []time.Duration{-time.Second, 0, time.Nanosecond, time.Millisecond} {
		result := call(t, source, "s_sleep", json.RawMessage(`{"ms":60000}`), WithTimeout(timeout))
		if !result.IsError || result.Metadata.Error.Kind != "timeout" {
			t.Error(timeout, result)
		}
	}
	if _, err := source.WaitFor(limited(t), "s", -time.Second, Stopped); !errors.Is(err, &Error{Code: CodeTimeout}) {
		t.Error(err)
	}
}

func TestPersonsAreAsked(t *testing.T) {
	for name, waitFor := range map[string]WaitFor{
		"agrees": func(_ context.Context, request Request) (Answer, error) {
			return Answer{OK: true, Data: map[string]string{"name": "Ada " + request.Prompt}}, nil
		},
		"declines": func(context.Context, Request) (Answer, error) { return Answer{Reason: "declined"}, nil },
		"fails":    func(context.Context, Request) (Answer, error) { return Answer{}, errors.New("the host's own") },
		"panics":   func(context.Context, Request) (Answer, error) { panic("the host's own") },
	} {
		t.Run(name, func(t *testing.T) {
			source := load(t, "{}", &Options{WaitFor: waitFor})
			output := call(t, source, "s_elicit", json.RawMessage(`{"message":"who?"}`)).Output
			if strings.Contains(output, "Ada who?") != (name == "agrees") {
				t.Error(output)
			}
		})
	}
	t.Run("is too late", func(t *testing.T) {
		over := make(chan struct{})
		source := load(t, "{}", &Options{
			Limits: map[string]int64{"personTimeoutMs": 20},
			WaitFor: func(ctx context.Context, _ Request) (Answer, error) {
				<-ctx.Done()
				close(over)
				return Answer{}, ctx.Err()
			},
		})
		if output := call(t, source, "s_elicit", json.RawMessage(`{"message":"who?"}`)).Output; !strings.Contains(output, "cancel") {
			t.Error(output)
		}
		<-over
	})
}

func TestErrorsHaveACode(t *testing.T) {
	source := load(t, "{}", nil)
	err := source.Restart(limited(t), "nobody")
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != CodeUnknownServer || !errors.Is(err, &Error{Code: CodeUnknownServer}) {
		t.Error(err)
	}
	if _, err := Load(limited(t), File("/nowhere/mcp.json"), nil); !errors.Is(err, &Error{Code: CodeConfig}) {
		t.Error(err)
	}
	known := []string{
		CodeConfig, CodeUnknownServer, CodeDisabled, CodeSpawn, CodeConnect, CodeNeedsAuth, CodeProtocol, CodeDropped,
		CodeTimeout, CodeCancelled, CodeClosed, CodeForked, CodeInternal,
	}
	if codes, _ := Codes(); fmt.Sprint(codes) != fmt.Sprint(known) {
		t.Error(codes)
	}
}

func TestValuesAreExactAndToolsStayTheSame(t *testing.T) {
	source := load(t, "{}", nil)
	raw := `{"content":[{"type":"text","text":"\u0000<&>"}],"structuredContent":{"big":18446744073709551616,"f":1e2}}`
	result := call(t, source, "s_raw", json.RawMessage(`{"result":`+raw+`}`))
	if string(result.Raw) != raw {
		t.Error(string(result.Raw))
	}
	if output := call(t, source, "s_echo", map[string]string{"text": "\x00é"}).Output; output != "\x00é" {
		t.Errorf("%q", output)
	}
	tool := source.Tool("s_echo")
	if err := source.Refresh(limited(t), ""); err != nil {
		t.Fatal(err)
	}
	if source.Tool("s_echo") != tool || source.Tool("nobody") != nil {
		t.Error("not the same tool")
	}
	entries, err := ListTools(limited(t), fake("{}"), nil)
	if err != nil || len(entries) != 1 || entries[0].Status != "connected" || len(entries[0].Tools) == 0 {
		t.Error(entries, err)
	}
}
