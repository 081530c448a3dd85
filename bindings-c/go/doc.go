// Package mcpresident keeps the tools of MCP servers usable for an agent that runs for days.
//
// It stands on the C interface of mcp-resident, which pkg-config must find under the name mcp-resident. Everything that
// takes time takes a context first, and ends with the context's error when that is done. Nothing of the caller's runs on a
// thread of the library: observers and questions run on goroutines.
//
//	source, err := mcpresident.Load(ctx, mcpresident.File("mcp.json"), &mcpresident.Options{Resident: true})
//	if err != nil {
//		return err
//	}
//	defer source.Close(context.Background())
//	result, err := source.Tool("files_read_file").Call(ctx, map[string]any{"path": "notes.txt"})
package mcpresident
