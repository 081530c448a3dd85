//! The options of a session in their JSON form, which is the same in every language: those of a load, and
//!
//! | key | value |
//! |---|---|
//! | `baseDir` | path; it has to be given |
//! | `projectTrust` | `"all"`, `"nothing"`, or a list of fingerprints; it has to be given |
//! | `userConfig`, `projectConfig` | path |
//! | `exposure` | `"direct"`, `"hidden"` or `"deferred"` |
//! | `exchangeWaitMs` | milliseconds |

use std::time::Duration;

use serde_json::Value;

use super::options::{ProjectTrust, SessionOptions};
use crate::config::Exposure;
use crate::error::Error;
use crate::source::options_form::{Expected, count, options_object, refused, text, texts};

const KEYS: [&str; 5] = [
    "exchangeWaitMs",
    "exposure",
    "projectConfig",
    "projectTrust",
    "userConfig",
];

impl SessionOptions {
    /// Reads options from a JSON object. What is not given is what sessions want; `null` is the same as a key that is not
    /// there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the option and says what it has to be.
    ///
    /// ```
    /// use mcp_resident::SessionOptions;
    ///
    /// let options = r#"{"baseDir": "/tmp", "projectTrust": "nothing", "userConfig": "/tmp/mcp.json"}"#;
    /// assert!(SessionOptions::from_json(options)?.user_config.is_some());
    /// assert!(SessionOptions::from_json(r#"{"baseDir": "/tmp"}"#).is_err());
    /// # Ok::<(), mcp_resident::Error>(())
    /// ```
    pub fn from_json(options: &str) -> Result<Self, Error> {
        let mut given = options_object(options)?;
        let mut own = |key: &str| given.remove(key).filter(|value| !value.is_null());
        let base_dir = own("baseDir")
            .ok_or_else(|| refused("baseDir", "is missing: name the session's directory"))?;
        let base_dir = text(&base_dir)
            .map_err(|expected| refused("baseDir", &expected))?
            .to_owned();
        let trust = own("projectTrust")
            .ok_or_else(|| refused("projectTrust", &format!("is missing: it {TRUST}")))?;
        let mut session = Self::new(base_dir, project_trust(&trust)?);
        for key in KEYS {
            if let Some(value) = own(key) {
                set(&mut session, key, &value).map_err(|expected| refused(key, &expected))?;
            }
        }
        if own("wait").is_some() {
            return Err(refused(
                "wait",
                "means nothing to a session: `exchangeWaitMs` bounds its exchanges",
            ));
        }
        session.load.take(given, &KEYS)?;
        Ok(session)
    }
}

const TRUST: &str = "must be \"all\", \"nothing\", or a list of fingerprints";

impl ProjectTrust {
    /// Reads a choice from JSON: `"all"`, `"nothing"`, or a list of fingerprints.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for anything else.
    pub fn from_json(choice: &str) -> Result<Self, Error> {
        let value = serde_json::from_str(choice).unwrap_or(Value::Null);
        project_trust(&value)
    }
}

fn project_trust(value: &Value) -> Result<ProjectTrust, Error> {
    match value.as_str() {
        Some("all") => Ok(ProjectTrust::All),
        Some("nothing") => Ok(ProjectTrust::Nothing),
        _ => match texts(value) {
            Ok(fingerprints) => Ok(ProjectTrust::Only(fingerprints.into_iter().collect())),
            Err(_) => Err(refused("projectTrust", TRUST)),
        },
    }
}

fn set(options: &mut SessionOptions, key: &str, value: &Value) -> Result<(), Expected> {
    match key {
        "userConfig" => options.user_config = Some(text(value)?.into()),
        "projectConfig" => options.project_config = Some(text(value)?.into()),
        "exposure" => {
            options.exposure = match value.as_str() {
                Some("direct") => Exposure::Direct,
                Some("hidden") => Exposure::Hidden,
                Some("deferred") => Exposure::Deferred,
                _ => return Err("must be \"direct\", \"hidden\" or \"deferred\"".to_owned()),
            }
        }
        "exchangeWaitMs" => {
            let limit =
                count(value).ok_or_else(|| "must be a number of milliseconds".to_owned())?;
            options.exchange_wait = Duration::from_millis(limit);
        }
        // It has been read.
        _ => {}
    }
    Ok(())
}
