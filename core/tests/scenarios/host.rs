//! The host program for Rust: does through the public API what the driver asks, and tells what it saw.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_resident::{
    Answer, Arguments, CallContext, CancellationToken, ConfigInput, Error, Event, Exchange,
    LoadOptions, McpSource, ProjectTrust, RawJson, Reason, Request, Session, SessionOptions, State,
    Subscription, Tool, list_mcp_tools, load_mcp, open_session,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::asked::{Asked, Given};

/// What still runs at the end may take so long to stop; the driver gives it more.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Serves the driver until its requests end.
pub(crate) fn run() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Runtime::new() else {
        return ExitCode::FAILURE;
    };
    let host = Arc::new(Host::default());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (id, asked) = Asked::read(&line);
        let (host, cancel) = (Arc::clone(&host), CancellationToken::new());
        // Before the next request is read, which may be the one to cancel this.
        lock(&host.running).insert(id, cancel.clone());
        runtime.spawn(async move {
            let done = match asked {
                Ok(asked) => host.carry_out(asked, cancel).await,
                Err(error) => Err(error.to_string().into()),
            };
            lock(&host.running).remove(&id);
            tell(&match done {
                Ok(value) => json!({ "id": id, "ok": value }),
                Err(Failed(error)) => json!({ "id": id, "error": error }),
            });
        });
    }
    // Who tells something just now finishes the line.
    runtime.shutdown_timeout(END_WITHIN);
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Host {
    /// What was loaded last.
    source: Mutex<Option<Arc<McpSource>>>,
    /// What was opened last, when that was a session.
    session: Mutex<Option<Arc<Session>>>,
    exchange: Mutex<Option<Exchange>>,
    observer: Mutex<Option<Subscription>>,
    remembered: Mutex<HashMap<String, Vec<Arc<Tool>>>>,
    running: Mutex<HashMap<u64, CancellationToken>>,
    questions: Mutex<Vec<Option<oneshot::Sender<Given>>>>,
}

/// An error as the driver is told of it.
struct Failed(Value);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(json!(error))
    }
}

/// A defect of this program or of the driver.
impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self(json!({ "kind": "host", "message": message }))
    }
}

impl Host {
    async fn carry_out(
        self: &Arc<Self>,
        asked: Asked,
        cancel: CancellationToken,
    ) -> Result<Value, Failed> {
        match asked.verb.as_str() {
            "load" => {
                let mut options = LoadOptions::from_json(&asked.options.to_string())?;
                options.cancel = Some(cancel);
                if asked.asks {
                    let host = Arc::clone(self);
                    options.wait_for = Some(Arc::new(move |request| host.clone().ask(request)));
                }
                *lock(&self.observer) = None;
                let source = load_mcp(config(asked.config), options).await?;
                *lock(&self.session) = None;
                self.hold(Arc::new(source));
            }
            "open" => {
                let mut options = SessionOptions::from_json(&asked.options.to_string())?;
                if asked.asks {
                    let host = Arc::clone(self);
                    options.load.wait_for =
                        Some(Arc::new(move |request| host.clone().ask(request)));
                }
                *lock(&self.observer) = None;
                let session = open_session(options).await?;
                self.hold(Arc::clone(session.source()));
                *lock(&self.session) = Some(Arc::new(session));
            }
            "inventory" => {
                let options = LoadOptions::from_json(&asked.options.to_string())?;
                let mut entries = json!(list_mcp_tools(config(asked.config), options).await?);
                for entry in entries.as_array_mut().into_iter().flatten() {
                    entry["error"] = entry["error"]["message"].take();
                }
                return Ok(entries);
            }
            "cancel" => {
                if let Some(running) = lock(&self.running).get(&asked.request) {
                    running.cancel();
                }
            }
            "answer" => {
                let waiting = lock(&self.questions)
                    .get_mut(asked.question)
                    .and_then(Option::take);
                if let (Some(waiting), Some(answer)) = (waiting, asked.answer) {
                    // Who no longer waits need not know.
                    let _ = waiting.send(answer);
                }
            }
            _ => return self.with_source(asked, cancel).await,
        }
        Ok(Value::Null)
    }

    fn hold(&self, source: Arc<McpSource>) {
        let observer = source.on_event(|event: &Event| tell(&json!({ "event": event })));
        *lock(&self.observer) = Some(observer);
        *lock(&self.source) = Some(source);
        *lock(&self.exchange) = None;
    }

    async fn with_session(
        &self,
        session: &Session,
        asked: &Asked,
    ) -> Result<Option<Value>, Failed> {
        Ok(Some(match asked.verb.as_str() {
            "exchange" => {
                let exchange = session.exchange().await?;
                *lock(&self.exchange) = Some(exchange);
                Value::Null
            }
            "untrusted" => json!(session.untrusted()),
            "trust" => {
                let trust = ProjectTrust::Only(asked.choice.iter().cloned().collect());
                json!(session.trust(trust).await?)
            }
            "reload" => json!(session.reload().await?),
            "tools" => match &*lock(&self.exchange) {
                Some(exchange) => exchange.tools().iter().map(|tool| as_text(tool)).collect(),
                None => json!([]),
            },
            _ => return Ok(None),
        }))
    }

    async fn with_source(&self, asked: Asked, cancel: CancellationToken) -> Result<Value, Failed> {
        let source = lock(&self.source).clone();
        let source = source.ok_or_else(|| "nothing is loaded".to_owned())?;
        let session = lock(&self.session).clone();
        if let Some(session) = session
            && let Some(done) = self.with_session(&session, &asked).await?
        {
            return Ok(done);
        }
        let server = asked.server.as_deref();
        let named = server.unwrap_or_default();
        Ok(match asked.verb.as_str() {
            "execute" => {
                let tool = self.tool(&source, &asked.tool, asked.remembered.as_deref())?;
                let arguments = asked.arguments.map(Arguments::from).unwrap_or_default();
                let mut context = CallContext::with_cancel(cancel);
                context.timeout = asked.timeout_ms.map(Duration::from_millis);
                let result = tool.execute(arguments, context).await;
                let (output, is_error) = (result.output, result.is_error);
                json!({ "output": output, "isError": is_error, "metadata": result.metadata })
            }
            "start" => json!(source.start(named, Some(&cancel)).await?),
            "stop" => json!(source.stop(named).await?),
            "restart" => json!(source.restart(named, Some(&cancel)).await?),
            "reload" => {
                let config = asked.config.is_object().then(|| config(asked.config));
                json!(source.reload(config, Some(&cancel)).await?)
            }
            "refresh" => json!(source.refresh(server).await?),
            "wait_for" => {
                let states: Result<Vec<State>, _> =
                    asked.states.iter().map(|name| name.parse()).collect();
                let states = states.map_err(|unknown| unknown.to_string())?;
                let limit = Duration::from_millis(asked.timeout_ms.unwrap_or_default());
                json!(source.wait_for(named, &states, limit).await?)
            }
            "close" => json!(source.close().await),
            "tools" => source.tools().iter().map(|tool| as_text(tool)).collect(),
            "status" => json!(source.status()),
            "state" => json!(source.state(named)?),
            "info" => {
                let mut info = json!(source.info(named)?);
                info["lastError"] = info["lastError"]["message"].take();
                info
            }
            "problems" => json!(source.problems()),
            "events" => json!(source.events(asked.after)),
            "remember" => {
                let tools = match &*lock(&self.exchange) {
                    Some(exchange) => exchange.tools().to_vec(),
                    None => source.tools(),
                };
                lock(&self.remembered).insert(asked.label, tools);
                Value::Null
            }
            "same_tool" => {
                let then = self.tool(&source, &asked.tool, Some(&asked.since))?;
                json!(Arc::ptr_eq(&self.tool(&source, &asked.tool, None)?, &then))
            }
            verb => return Err(format!("no request is called {verb:?}").into()),
        })
    }

    /// The tool as it is now, or as it was when the tools were remembered.
    fn tool(&self, now: &McpSource, name: &str, then: Option<&str>) -> Result<Arc<Tool>, Failed> {
        let found = match then {
            None => match &*lock(&self.exchange) {
                Some(exchange) => exchange.tool(name).cloned(),
                None => now.tool(name),
            },
            Some(label) => lock(&self.remembered)
                .get(label)
                .and_then(|tools| tools.iter().find(|tool| tool.name() == name).cloned()),
        };
        found.ok_or_else(|| format!("there is no tool {name:?}").into())
    }

    async fn ask(self: Arc<Self>, request: Request) -> Answer {
        let (sender, answer) = oneshot::channel();
        let question = {
            let mut questions = lock(&self.questions);
            questions.push(Some(sender));
            questions.len() - 1
        };
        tell(&json!({ "question": question, "request": request }));
        let given = answer.await.unwrap_or_default();
        if given.ok {
            return Answer::accept(request.id, given.data.as_ref().map(RawJson::from));
        }
        let reasons = [Reason::Declined, Reason::Expired];
        let reason = reasons
            .into_iter()
            .find(|reason| reason.as_str() == given.reason);
        Answer::refuse(request.id, reason.unwrap_or(Reason::Cancelled))
    }
}

/// A tool with its schemas as the library gives them.
fn as_text(tool: &Tool) -> Value {
    let mut value = json!(tool);
    value["inputSchema"] = json!(tool.input_schema().as_str());
    value["serverSchema"] = json!(tool.server_schema().as_str());
    value
}

fn config(config: Value) -> ConfigInput {
    match config {
        Value::String(path) => PathBuf::from(path).into(),
        object => object.into(),
    }
}

/// Writes a line. When the driver is gone there is nobody to tell.
fn tell(line: &Value) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
