//! The link against a scripted server on the loopback interface.

mod listening;
mod refusals;
mod replies;
mod resuming;
mod session;

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use tokio::time::timeout;

use super::{
    super::{
        inbound::RequestId,
        testing::{Recorder, TEST_LIMIT, TestServer, direct_client},
    },
    HttpLink, HttpOptions,
};

/// A link to a server, with what both sides saw.
struct Fixture {
    server: TestServer,
    recorder: Arc<Recorder>,
    link: HttpLink,
}

impl Fixture {
    fn new(server: TestServer) -> Self {
        Self::with(server, |_| {})
    }

    fn with(server: TestServer, adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        let recorder = Recorder::new();
        let mut options = HttpOptions::new(server.url("/mcp"));
        adjust(&mut options);
        let client = direct_client();
        let link = HttpLink::new(client, options, recorder.clone());
        Self {
            server,
            recorder,
            link,
        }
    }

    /// Sends a request that names its id in its body.
    async fn call(&self, id: u64) -> Result<http::StatusCode, super::RequestFailure> {
        bounded(self.link.request(&RequestId::from(id), request(id))).await
    }
}

fn request(id: u64) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#).into()
}

fn reply(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// Reads the id of a request that [`request`] made.
fn id_of(body: &str) -> u64 {
    let message: serde_json::Value = serde_json::from_str(body).unwrap();
    message["id"].as_u64().unwrap()
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    timeout(TEST_LIMIT, work).await.expect("done in time")
}
