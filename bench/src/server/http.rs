//! Streamable HTTP with sessions, answering each request with an event stream as most servers do.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::answer::{Answered, Answers};
use crate::Failure;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

type Body = BoxBody<Bytes, Infallible>;

pub(super) fn serve(answers: Answers) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, accept(Rc::new(RefCell::new(answers))))
}

async fn accept(answers: Rc<RefCell<Answers>>) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = Rc::clone(&answers);
        let service = service_fn(move |request| respond(request, Rc::clone(&answers)));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A client that goes away in the middle is no business of a server like this.
        tokio::task::spawn_local(connection);
    }
}

async fn respond(
    request: Request<Incoming>,
    answers: Rc<RefCell<Answers>>,
) -> Result<Response<Body>, hyper::Error> {
    if request.method() == Method::DELETE {
        return Ok(empty(StatusCode::OK));
    }
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let message = request.into_body().collect().await?.to_bytes();
    let mut event = b"event: message\ndata: ".to_vec();
    let answered = answers.borrow_mut().answer(&message, &mut event);
    if answered == Answered::Notification {
        return Ok(empty(StatusCode::ACCEPTED));
    }
    event.extend_from_slice(b"\n\n");
    // A stream and not a whole body: its length is not known beforehand, as with real servers.
    let event = stream::iter([Ok(Frame::data(Bytes::from(event)))]);
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(event)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    if answered == Answered::Initialize {
        headers.insert(SESSION_ID, HeaderValue::from_static("bench"));
    }
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().boxed());
    *response.status_mut() = status;
    response
}
