//! A server in a few lines of shell, for bytes that no well-made fake can write.

use mcp_resident::{LoadOptions, McpSource, load_mcp};
use serde_json::{Map, Value, json};

use crate::support::bounded;

/// Answers the handshake and the list like a good server, and a call with the shell code of the test, which finds the
/// request's id in `$id`.
const SERVER: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$1" "$2"; }
calls=0
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":"%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$DESCRIPTION" ;;
    *'"method":"tools/call"'*)
      calls=$((calls + 1))
      CALL ;;
  esac
done
"#;

/// The program of such a server.
pub(crate) fn script(on_call: &str) -> String {
    SERVER.replace("CALL", on_call)
}

/// The entry of such a server.
pub(crate) fn entry(on_call: &str, keys: Value) -> Value {
    let mut entry = Map::new();
    entry.insert("command".to_owned(), json!("/bin/sh"));
    entry.insert("args".to_owned(), json!(["-c", script(on_call)]));
    if let Value::Object(keys) = keys {
        entry.extend(keys);
    }
    Value::Object(entry)
}

/// A source with one such server named `s`, whose tool is `s_t`.
pub(crate) async fn load(on_call: &str, keys: Value) -> McpSource {
    let config = json!({ "mcpServers": { "s": entry(on_call, keys) } });
    let source = bounded(load_mcp(config, LoadOptions::default()))
        .await
        .unwrap();
    assert!(source.tool("s_t").is_some(), "{:?}", source.info("s"));
    source
}
