module github.com/mcp-resident/mcp-resident/bindings-c/go

go 1.22
