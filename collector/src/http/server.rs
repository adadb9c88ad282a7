//! Accepts connections within bounds: so many at once, so long for a head, so large a head. HTTP/1.1, keep-alive.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::Service;

use crate::metrics::Metrics;

/// A connection that sends no head, or idles, this long is closed.
const HEAD_TIME: Duration = Duration::from_secs(30);
const MAX_HEAD: usize = 64 * 1024;

/// Serves until `stop` turns true, then lets requests under way finish.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    max: usize,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(max));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            // Closed never; waiting here leaves further clients in the kernel's queue.
            let permit = room.clone().acquire_owned().await.ok();
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            next = next => next,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let routes = routes.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            routes.clone().call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let metrics = metrics.clone();
        tokio::spawn(async move {
            metrics.connections.inc();
            // A client that goes away is no event worth a line.
            let _ = connection.await;
            metrics.connections.dec();
            drop(permit);
        });
    }
    graceful.shutdown().await;
}
