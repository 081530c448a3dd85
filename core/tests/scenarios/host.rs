//! The host program for Rust: does through the public API what the driver asks, and tells what it saw.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_resident::{
    Answer, Arguments, CallContext, CancellationToken, ConfigInput, Error, Event, LoadOptions,
    McpSource, RawJson, Reason, Request, State, Subscription, Tool, list_mcp_tools, load_mcp,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::options::Options;

/// Serves the driver until its requests end.
pub(crate) fn run() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Runtime::new() else {
        return ExitCode::FAILURE;
    };
    let host = Arc::new(Host::default());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(mut fields) = serde_json::from_str(&line).map(Fields) else {
            return ExitCode::FAILURE;
        };
        let Ok(id) = fields.take("id") else {
            return ExitCode::FAILURE;
        };
        let (host, cancel) = (Arc::clone(&host), CancellationToken::new());
        // Before the next request is read, which may be the one to cancel this.
        lock(&host.running).insert(id, cancel.clone());
        runtime.spawn(async move {
            let answer = match host.carry_out(fields, cancel).await {
                Ok(value) => json!({ "id": id, "ok": value }),
                Err(Failed::Library(error)) => json!({ "id": id, "error": error }),
                Err(Failed::Host(message)) => {
                    json!({ "id": id, "error": { "kind": "host", "message": message } })
                }
            };
            lock(&host.running).remove(&id);
            tell(&answer);
        });
    }
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Host {
    /// What was loaded last, and its observer.
    source: Mutex<Option<(Arc<McpSource>, Subscription)>>,
    remembered: Mutex<HashMap<String, Vec<Arc<Tool>>>>,
    running: Mutex<HashMap<u64, CancellationToken>>,
    questions: Mutex<Vec<Option<oneshot::Sender<Given>>>>,
}

/// The answer to a question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    ok: bool,
    data: Option<Value>,
    reason: Option<String>,
}

enum Failed {
    Library(Error),
    /// A defect of this program or of the driver.
    Host(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Host {
    async fn carry_out(
        self: &Arc<Self>,
        mut fields: Fields,
        cancel: CancellationToken,
    ) -> Result<Value, Failed> {
        let verb: String = fields.take("do")?;
        let done = match verb.as_str() {
            "load" => {
                let (config, mut options) = (fields.config()?, fields.options()?);
                if fields.take("asks")? {
                    let host = Arc::clone(self);
                    options.wait_for = Some(Arc::new(move |request| {
                        let host = Arc::clone(&host);
                        async move { host.ask(request).await }
                    }));
                }
                options.cancel = Some(cancel);
                fields.finish()?;
                let source = Arc::new(load_mcp(config, options).await?);
                let observer = source.on_event(|event: &Event| tell(&json!({ "event": event })));
                *lock(&self.source) = Some((source, observer));
                Value::Null
            }
            "inventory" => {
                let (config, options) = (fields.config()?, fields.options()?);
                fields.finish()?;
                json!(
                    list_mcp_tools(config, options)
                        .await?
                        .iter()
                        .map(|entry| {
                            let error = entry.error.as_ref().map(Error::to_string);
                            let tools = entry.tools.iter().map(|tool| {
                        json!({ "name": tool.name, "description": tool.description })
                    });
                            json!({
                                "server": entry.server, "status": entry.status, "error": error,
                                "tools": tools.collect::<Vec<_>>(),
                            })
                        })
                        .collect::<Vec<_>>()
                )
            }
            "cancel" => {
                let request: u64 = fields.take("request")?;
                if let Some(running) = lock(&self.running).get(&request) {
                    running.cancel();
                }
                Value::Null
            }
            "answer" => {
                let (question, given): (usize, Given) =
                    (fields.take("question")?, fields.take("answer")?);
                let waiting = lock(&self.questions)
                    .get_mut(question)
                    .and_then(Option::take);
                // Who no longer waits need not know.
                let _ = waiting.map(|waiting| waiting.send(given));
                Value::Null
            }
            _ => self.with_source(&verb, &mut fields, &cancel).await?,
        };
        fields.finish()?;
        Ok(done)
    }

    async fn with_source(
        &self,
        verb: &str,
        fields: &mut Fields,
        cancel: &CancellationToken,
    ) -> Result<Value, Failed> {
        let source = lock(&self.source)
            .as_ref()
            .map(|(source, _)| source.clone());
        let source = source.ok_or_else(|| Failed::Host("nothing is loaded".to_owned()))?;
        Ok(match verb {
            "execute" => {
                let (tool, since) = (fields.take("tool")?, fields.take("remembered")?);
                let arguments: Option<RawJson> = fields.take("arguments")?;
                let timeout_ms: Option<u64> = fields.take("timeoutMs")?;
                let mut context = CallContext::with_cancel(cancel.clone());
                context.timeout = timeout_ms.map(Duration::from_millis);
                let tool = self.tool(&source, tool, since)?;
                let arguments = arguments.map(Arguments::from).unwrap_or_default();
                let result = tool.execute(arguments, context).await;
                json!({
                    "output": result.output, "isError": result.is_error, "metadata": result.metadata,
                })
            }
            "start" => json!(source.start(&fields.server()?, Some(cancel)).await?),
            "stop" => json!(source.stop(&fields.server()?).await?),
            "restart" => json!(source.restart(&fields.server()?, Some(cancel)).await?),
            "refresh" => {
                let server: Option<String> = fields.take("server")?;
                json!(source.refresh(server.as_deref()).await?)
            }
            "wait_for" => {
                let states: Vec<String> = fields.take("states")?;
                let states: Vec<State> = states.iter().map(|name| state(name)).collect::<Result<_, _>>()?;
                let limit = Duration::from_millis(fields.take("timeoutMs")?);
                json!(source.wait_for(&fields.server()?, &states, limit).await?)
            }
            "close" => json!(source.close().await),
            "tools" => source.tools().iter().map(|tool| json!({
                "name": tool.name(), "description": tool.description(),
                "server": tool.server(), "serverTool": tool.server_tool(),
                "inputSchema": tool.input_schema().as_str(), "serverSchema": tool.server_schema().as_str(),
            })).collect(),
            "status" => json!(source.status()),
            "state" => json!(source.state(&fields.server()?)?),
            "info" => {
                let info = source.info(&fields.server()?)?;
                let mut value = json!(info);
                value["lastError"] = json!(info.last_error.as_ref().map(Error::to_string));
                value
            }
            "problems" => json!(source.problems()),
            "events" => json!(source.events(fields.take("after")?)),
            "remember" => {
                lock(&self.remembered).insert(fields.take("label")?, source.tools());
                Value::Null
            }
            "same_tool" => {
                let (tool, since): (String, String) = (fields.take("tool")?, fields.take("since")?);
                let now = self.tool(&source, tool.clone(), None)?;
                json!(Arc::ptr_eq(&now, &self.tool(&source, tool, Some(since))?))
            }
            _ => return Err(Failed::Host(format!("no request is called {verb:?}"))),
        })
    }

    /// The tool as it is now, or as it was when the tools were remembered.
    fn tool(
        &self,
        source: &McpSource,
        name: String,
        since: Option<String>,
    ) -> Result<Arc<Tool>, Failed> {
        let found = match since {
            None => source.tool(&name),
            Some(label) => lock(&self.remembered)
                .get(&label)
                .and_then(|tools| tools.iter().find(|tool| tool.name() == name).cloned()),
        };
        found.ok_or_else(|| Failed::Host(format!("there is no tool {name:?}")))
    }

    async fn ask(&self, request: Request) -> Answer {
        let (sender, answer) = oneshot::channel();
        let question = {
            let mut questions = lock(&self.questions);
            questions.push(Some(sender));
            questions.len() - 1
        };
        tell(&json!({ "question": question, "request": request }));
        match answer.await {
            Ok(Given { ok: true, data, .. }) => {
                Answer::accept(request.id, data.as_ref().map(RawJson::from))
            }
            Ok(Given { reason, .. }) => Answer::refuse(
                request.id,
                match reason.as_deref() {
                    Some("declined") => Reason::Declined,
                    Some("expired") => Reason::Expired,
                    _ => Reason::Cancelled,
                },
            ),
            Err(_) => Answer::refuse(request.id, Reason::Cancelled),
        }
    }
}

/// The fields of a request, as they are written.
struct Fields(BTreeMap<String, RawJson>);

impl Fields {
    /// Takes a field; one that is not there reads as `null`.
    fn take<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, Failed> {
        let value = self.0.remove(field);
        serde_json::from_str(value.as_ref().map_or("null", RawJson::as_str))
            .map_err(|error| Failed::Host(format!("{field}: {error}")))
    }

    fn server(&mut self) -> Result<String, Failed> {
        self.take("server")
    }

    fn config(&mut self) -> Result<ConfigInput, Failed> {
        Ok(match self.take("config")? {
            Value::String(path) => PathBuf::from(path).into(),
            object => object.into(),
        })
    }

    fn options(&mut self) -> Result<LoadOptions, Failed> {
        self.take::<Options>("options")?
            .decode()
            .map_err(Failed::Host)
    }

    /// Nothing may be left: a misspelt field would silently change what the driver asks for.
    fn finish(&self) -> Result<(), Failed> {
        let left = self.0.keys().next();
        left.map_or(Ok(()), |field| {
            Err(Failed::Host(format!("unknown field {field:?}")))
        })
    }
}

fn state(name: &str) -> Result<State, Failed> {
    [
        State::Stopped,
        State::Starting,
        State::Running,
        State::Error,
    ]
    .into_iter()
    .find(|state| state.as_str() == name)
    .ok_or_else(|| Failed::Host(format!("no state is called {name:?}")))
}

/// Writes a line. When the driver is gone there is nobody to tell.
fn tell(line: &Value) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
