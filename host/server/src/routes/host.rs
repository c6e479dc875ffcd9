//! `GET /v1/host`: who answers, and what it speaks.

use axum::Json;

use crate::wire::v1::HostInfo;

pub(super) async fn describe() -> Json<HostInfo> {
    Json(HostInfo {
        api: vec!["v1".to_owned()],
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
    })
}
