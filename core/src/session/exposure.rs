//! Which tools a model is shown (SPEC 7.5).

use wildmatch::WildMatch;

use crate::config::{Exposure, ServerDefinition};

/// How a server's tool is shown: by the pattern of its name that says most, else as its server, else as the host chose.
///
/// Of two patterns that fit, the one with more letters of its own counts, and of two with as many the later one, so that
/// the order in which a file names them seldom matters.
pub(super) fn exposure_of(tool: &str, server: &ServerDefinition, default: Exposure) -> Exposure {
    let fitting = server
        .tool_exposure
        .iter()
        .filter(|(pattern, _)| WildMatch::new(pattern).matches(tool));
    fitting
        .max_by_key(|(pattern, _)| pattern.chars().filter(|l| !matches!(l, '*' | '?')).count())
        .map(|(_, exposure)| *exposure)
        .or(server.exposure)
        .unwrap_or(default)
}

/// Whether a tool of the server may be declared to a model, so that an exchange waits for it.
pub(super) fn may_be_direct(server: &ServerDefinition, default: Exposure) -> bool {
    let all = server.tool_exposure.iter().map(|(_, exposure)| *exposure);
    all.chain([server.exposure.unwrap_or(default)])
        .any(|exposure| exposure == Exposure::Direct)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{ParseOptions, parse};

    fn server(keys: serde_json::Value) -> ServerDefinition {
        let mut entry = json!({ "command": "server" });
        entry
            .as_object_mut()
            .unwrap()
            .extend(keys.as_object().unwrap().clone());
        let config = json!({ "mcpServers": { "s": entry } });
        let parsed = parse(config.into(), &ParseOptions::default()).unwrap();
        parsed.servers[0].definition.clone().unwrap()
    }

    #[test]
    fn the_pattern_that_says_most_counts_whatever_the_order() {
        for patterns in [
            json!({"*": "hidden", "read_*": "direct", "read_secret": "deferred"}),
            json!({"read_secret": "deferred", "read_*": "direct", "*": "hidden"}),
        ] {
            let server = server(json!({ "exposure": "direct", "toolExposure": patterns }));
            let shown = |tool| exposure_of(tool, &server, Exposure::Direct);
            assert_eq!(shown("write"), Exposure::Hidden);
            assert_eq!(shown("read_file"), Exposure::Direct);
            assert_eq!(shown("read_secret"), Exposure::Deferred);
        }
    }

    #[test]
    fn without_a_pattern_the_server_decides_and_then_the_host() {
        let silent = server(json!({}));
        assert_eq!(
            exposure_of("t", &silent, Exposure::Hidden),
            Exposure::Hidden
        );
        assert!(!may_be_direct(&silent, Exposure::Hidden));
        let hidden = server(json!({ "exposure": "hidden", "toolExposure": {"t": "direct"} }));
        assert_eq!(
            exposure_of("u", &hidden, Exposure::Direct),
            Exposure::Hidden
        );
        assert_eq!(
            exposure_of("t", &hidden, Exposure::Direct),
            Exposure::Direct
        );
        assert!(may_be_direct(&hidden, Exposure::Direct));
    }
}
