// A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
//
//	agent mcp.json TOOL '{"text": "hello"}'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"syscall"

	mcpresident "github.com/mcp-resident/mcp-resident/bindings-c/go"
)

// ask calls a tool that does no harm, and once more when the server was lost under the call.
func ask(ctx context.Context, tool *mcpresident.Tool, arguments string) error {
	for attempt := 0; attempt < 2; attempt++ {
		result, err := tool.Call(ctx, json.RawMessage(arguments))
		if err != nil {
			return err
		}
		if result.IsError && result.Metadata.Error.Kind == "dropped" {
			fmt.Println("lost:", result.Output)
			continue
		}
		fmt.Println("answer:", result.Output)
		return nil
	}
	return nil
}

func run(ctx context.Context, config, name, arguments string) error {
	source, err := mcpresident.Load(ctx, mcpresident.File(config), &mcpresident.Options{Resident: true})
	if err != nil {
		return err
	}
	defer source.Close(ctx)
	for _, tool := range source.Tools() {
		fmt.Println("tool:", tool.Name())
	}
	tool := source.Tool(name)
	if tool == nil {
		return fmt.Errorf("there is no tool %s", name)
	}
	if err := ask(ctx, tool, arguments); err != nil {
		return err
	}
	info, err := source.Info(tool.Server())
	if err != nil || info.ProcessID == 0 {
		return err
	}
	if err := syscall.Kill(info.ProcessID, syscall.SIGKILL); err != nil {
		return err
	}
	fmt.Println("killed", tool.Server())
	return ask(ctx, tool, arguments)
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: agent CONFIG TOOL ARGUMENTS")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}
