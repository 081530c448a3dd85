//! The options of a load in their JSON form, which is the same in every language and read nowhere else.
//!
//! | key | value |
//! |---|---|
//! | `autoRestart` | `true`, `false`, or `{"maxRetries": count, "backoffMs": milliseconds}`, both optional |
//! | `liveToolList`, `resident`, `guardian`, `replayRepeatableCalls`, `validateArguments` | `true` or `false` |
//! | `defaultInheritEnv` | list of names |
//! | `expand` | `"headers"` or `"all"` |
//! | `wait` | `"all"`, `"ready"`, `"none"`, or milliseconds |
//! | `baseDir`, `cacheDir`, `spillDir`, `logDir` | path |
//! | `environment` | object of texts |
//! | `secretCommands` | `true`: values that begin with `!` are run |
//! | `maxProcesses` | count, at least 1 |
//! | `limits` | object of the keys of SPEC's table of limits |
//! | `clientInfo` | `{"name": text, "version": text}` |
//!
//! `null` is the same as a key that is not there. An unknown key is an error, so that a misspelt one is not a silent
//! default.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Implementation;
use super::options::{LoadOptions, Wait};
use crate::config::{AutoRestart, ExpandMode, FixedEnvironment, LimitOverrides};
use crate::error::{Error, ErrorKind};
use crate::server::ShellCommandRunner;

const KEYS: [&str; 18] = [
    "autoRestart",
    "baseDir",
    "cacheDir",
    "clientInfo",
    "defaultInheritEnv",
    "environment",
    "expand",
    "guardian",
    "limits",
    "liveToolList",
    "logDir",
    "maxProcesses",
    "replayRepeatableCalls",
    "resident",
    "secretCommands",
    "spillDir",
    "validateArguments",
    "wait",
];

/// Why an option cannot be used: what it has to be.
pub(crate) type Expected = String;

impl LoadOptions {
    /// Reads options from a JSON object: `autoRestart`, `liveToolList`, `resident`, and so on as SPEC section 1 lists them.
    /// `null` is the same as a key that is not there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`] names the option and says what it has to be. An unknown key is an error, so that a misspelt
    /// one is not a silent default.
    ///
    /// ```
    /// use mcp_resident::{LoadOptions, Wait};
    ///
    /// let options = LoadOptions::from_json(r#"{"resident": true, "wait": "ready"}"#)?;
    /// assert!(options.resident && options.wait == Wait::Ready);
    /// assert!(LoadOptions::from_json(r#"{"residents": true}"#).is_err());
    /// # Ok::<(), mcp_resident::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        options.take(options_object(text)?, &[])?;
        Ok(options)
    }

    /// Takes what is given in the place of what these options have. `others` are the keys that somebody else reads, for
    /// the list of all.
    pub(crate) fn take(&mut self, given: Map<String, Value>, others: &[&str]) -> Result<(), Error> {
        for (key, value) in given {
            if !value.is_null() {
                set(self, &key, &value, others).map_err(|expected| refused(&key, &expected))?;
            }
        }
        Ok(())
    }
}

/// The error of an option that cannot be used.
pub(crate) fn refused(key: &str, expected: &str) -> Error {
    let message = format!("the option `{}` {expected}", key.escape_debug());
    Error::new(ErrorKind::Config, message)
}

/// The object that options are given as.
pub(crate) fn options_object(text: &str) -> Result<Map<String, Value>, Error> {
    let refused = |message: String| Error::new(ErrorKind::Config, message);
    let value: Value = serde_json::from_str(text)
        .map_err(|error| refused(format!("the options are not valid JSON: {error}")))?;
    match value {
        Value::Object(given) => Ok(given),
        Value::Null => Ok(Map::new()),
        _ => Err(refused("the options must be an object".to_owned())),
    }
}

fn set(
    options: &mut LoadOptions,
    key: &str,
    value: &Value,
    others: &[&str],
) -> Result<(), Expected> {
    match key {
        "autoRestart" => options.auto_restart = Some(auto_restart(value)?),
        "liveToolList" => options.live_tool_list = Some(switch(value)?),
        "resident" => options.resident = switch(value)?,
        "guardian" => options.guardian = Some(switch(value)?),
        "replayRepeatableCalls" => options.replay_repeatable_calls = switch(value)?,
        "validateArguments" => options.validate_arguments = switch(value)?,
        "defaultInheritEnv" => options.default_inherit_env = Some(texts(value)?),
        "expand" => options.expand = Some(expand(value)?),
        "wait" => options.wait = wait(value)?,
        "baseDir" => options.base_dir = Some(text(value)?.into()),
        "logDir" => options.log_dir = Some(text(value)?.into()),
        "spillDir" => options.spill_dir = Some(text(value)?.into()),
        "cacheDir" => options.cache_dir = Some(text(value)?.into()),
        "environment" => options.environment = Some(Arc::new(environment(value)?)),
        "secretCommands" => {
            let runner = switch(value)?.then(|| Arc::new(ShellCommandRunner) as Arc<_>);
            options.secret_commands = runner;
        }
        "maxProcesses" => options.max_processes = Some(at_least_one(value)?),
        "limits" => options.limits = limits(value, &options.limits)?,
        "clientInfo" => options.client_info = Some(client_info(value)?),
        _ => {
            let mut known = [others, KEYS.as_slice()].concat();
            known.sort_unstable();
            return Err(format!("is not known; there are: {}", known.join(", ")));
        }
    }
    Ok(())
}

fn switch(value: &Value) -> Result<bool, Expected> {
    value
        .as_bool()
        .ok_or_else(|| "must be true or false".to_owned())
}

pub(crate) fn text(value: &Value) -> Result<&str, Expected> {
    value.as_str().ok_or_else(|| "must be a text".to_owned())
}

pub(crate) fn texts(value: &Value) -> Result<Vec<String>, Expected> {
    let texts = value.as_array().and_then(|values| {
        let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
        texts.collect()
    });
    texts.ok_or_else(|| "must be a list of texts".to_owned())
}

fn object(value: &Value) -> Result<&Map<String, Value>, Expected> {
    value
        .as_object()
        .ok_or_else(|| "must be an object".to_owned())
}

/// Languages whose numbers are all floating point write 250 as 250.0.
pub(crate) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        let whole = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is a whole number below 2^53"
        )]
        whole.then_some(number as u64)
    })
}

fn at_least_one(value: &Value) -> Result<usize, Expected> {
    let amount = count(value).and_then(|amount| usize::try_from(amount).ok());
    amount
        .filter(|amount| *amount > 0)
        .ok_or_else(|| "must be a whole number, at least 1".to_owned())
}

fn auto_restart(value: &Value) -> Result<AutoRestart, Expected> {
    let expected =
        || "must be true, false, or an object with `maxRetries` and `backoffMs`".to_owned();
    match value {
        Value::Bool(false) => Ok(AutoRestart::Off),
        Value::Bool(true) => Ok(AutoRestart::On {
            max_retries: None,
            backoff: None,
        }),
        Value::Object(given) => {
            if given
                .keys()
                .any(|key| key != "maxRetries" && key != "backoffMs")
            {
                return Err(expected());
            }
            let number = |key| match given.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => count(value).map(Some).ok_or_else(expected),
            };
            Ok(AutoRestart::On {
                max_retries: number("maxRetries")?
                    .map(|retries| retries.try_into().unwrap_or(u32::MAX)),
                backoff: number("backoffMs")?.map(Duration::from_millis),
            })
        }
        _ => Err(expected()),
    }
}

fn expand(value: &Value) -> Result<ExpandMode, Expected> {
    match value.as_str() {
        Some("headers") => Ok(ExpandMode::HeadersOnly),
        Some("all") => Ok(ExpandMode::All),
        _ => Err("must be \"headers\" or \"all\"".to_owned()),
    }
}

fn wait(value: &Value) -> Result<Wait, Expected> {
    match value.as_str() {
        Some("all") => return Ok(Wait::All),
        Some("ready") => return Ok(Wait::Ready),
        Some("none") => return Ok(Wait::None),
        _ => {}
    }
    let milliseconds = count(value).ok_or_else(|| {
        "must be \"all\", \"ready\", \"none\", or a number of milliseconds".to_owned()
    })?;
    Ok(Wait::For(Duration::from_millis(milliseconds)))
}

/// Values may be secrets: the name alone is told.
fn environment(value: &Value) -> Result<FixedEnvironment, Expected> {
    object(value)?
        .iter()
        .map(|(name, value)| match value.as_str() {
            Some(text) => Ok((name, text)),
            None => Err(format!("must have a text for `{}`", name.escape_debug())),
        })
        .collect()
}

/// What is set stays where nothing else is given.
fn limits(value: &Value, set: &LimitOverrides) -> Result<LimitOverrides, Expected> {
    let mut limits = set.clone();
    for (key, value) in object(value)? {
        let key_text = key.escape_debug();
        let amount =
            count(value).ok_or_else(|| format!("needs a whole number for `{key_text}`"))?;
        limits
            .set(key, amount)
            .map_err(|refused| format!("cannot be used: `{key_text}` {refused}"))?;
    }
    Ok(limits)
}

fn client_info(value: &Value) -> Result<Implementation, Expected> {
    let member = |name: &str| {
        let text = object(value).ok()?.get(name)?.as_str()?;
        Some(text.to_owned())
    };
    match (member("name"), member("version")) {
        (Some(name), Some(version)) => Ok(Implementation { name, version }),
        _ => Err("must be an object with the texts `name` and `version`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<LoadOptions, String> {
        LoadOptions::from_json(text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let options = options(
            r#"{"autoRestart": {"maxRetries": 2.0, "backoffMs": 10}, "liveToolList": true, "resident": true,
                "guardian": false, "replayRepeatableCalls": true, "validateArguments": true, "defaultInheritEnv": ["A"], "expand": "all",
                "wait": 250, "baseDir": "/b", "cacheDir": "/c", "maxProcesses": 3, "environment": {"A": "1"}, "secretCommands": true,
                "limits": {"maxTools": 7}, "clientInfo": {"name": "n", "version": "v"}}"#,
        )
        .unwrap();
        assert_eq!(
            options.auto_restart,
            Some(AutoRestart::On {
                max_retries: Some(2),
                backoff: Some(Duration::from_millis(10))
            })
        );
        assert_eq!(options.live_tool_list, Some(true));
        assert!(options.resident && options.replay_repeatable_calls && options.validate_arguments);
        assert_eq!(options.guardian, Some(false));
        assert_eq!(options.default_inherit_env, Some(vec!["A".to_owned()]));
        assert_eq!(options.expand, Some(ExpandMode::All));
        assert_eq!(options.wait, Wait::For(Duration::from_millis(250)));
        assert_eq!(options.base_dir, Some("/b".into()));
        assert_eq!(options.cache_dir, Some("/c".into()));
        let variables = options.environment.unwrap().variables();
        assert_eq!(variables, [("A".into(), "1".into())]);
        assert!(options.secret_commands.is_some());
        assert_eq!(options.limits.max_tools, Some(7));
        assert_eq!(options.max_processes, Some(3));
        assert_eq!(options.client_info.unwrap().version, "v");
    }

    #[test]
    fn nothing_and_null_are_the_defaults() {
        for text in ["{}", "null", r#"{"wait": null, "limits": null}"#] {
            let options = options(text).unwrap();
            assert_eq!(options.wait, Wait::All);
            assert!(!options.resident && options.secret_commands.is_none());
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_value() {
        for (text, part) in [
            ("[]", "must be an object"),
            ("{", "not valid JSON"),
            (
                r#"{"waits": 1}"#,
                "`waits` is not known; there are: autoRestart",
            ),
            (r#"{"wait": "soon"}"#, "`wait` must be \"all\""),
            (r#"{"wait": -1}"#, "`wait` must be"),
            (
                r#"{"autoRestart": {"retries": 1}}"#,
                "`autoRestart` must be",
            ),
            (
                r#"{"environment": {"TOKEN": 7}}"#,
                "must have a text for `TOKEN`",
            ),
            (r#"{"limits": {"maxTool": 1}}"#, "`maxTool` is no limit"),
            (
                r#"{"limits": {"maxTools": 0}}"#,
                "`maxTools` must be at least 1",
            ),
            (
                r#"{"limits": {"maxTools": "many"}}"#,
                "a whole number for `maxTools`",
            ),
            (
                r#"{"maxProcesses": 0}"#,
                "must be a whole number, at least 1",
            ),
            (r#"{"clientInfo": {"name": "n"}}"#, "`name` and `version`"),
        ] {
            let error = options(text).err().unwrap();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
