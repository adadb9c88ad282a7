use super::*;

fn options() -> BackendOptions {
    BackendOptions {
        backend_url: Some("https://backend.example".into()),
        api_key: "ffk_test_fake".into(),
        ..BackendOptions::default()
    }
}

fn lines(settings: &Settings) -> String {
    settings.notes.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_origin_without_a_path_gets_v1() {
    for (url, base) in [
        ("https://backend.example", "https://backend.example/v1"),
        ("https://backend.example/", "https://backend.example/v1"),
        ("https://backend.example:8443", "https://backend.example:8443/v1"),
        ("https://backend.example/api/sdk/v2", "https://backend.example/api/sdk/v2"),
        ("https://backend.example/api/", "https://backend.example/api"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("http://[::1]:9/x", "http://[::1]:9/x"),
    ] {
        let settings = Settings::new(BackendOptions { backend_url: Some(url.into()), ..options() });
        assert_eq!(settings.reach.unwrap().base, base);
        assert!(settings.notes.is_empty(), "{url}");
    }
}

#[test]
fn no_backend_is_said_once_and_turns_telemetry_off() {
    let settings = Settings::new(BackendOptions { backend_url: None, ..options() });
    assert!(settings.reach.is_none() && !settings.telemetry);
    assert_eq!(settings.notes.len(), 1);
}

#[test]
fn what_is_no_base_url_turns_the_backend_off() {
    for url in [
        "",
        "backend.example",
        "/v1",
        "ftp://backend.example",
        "https://",
        "https://user:secret@backend.example",
        "https://backend.example/?x",
        "https://backend.example/#x",
        "https://backend example",
    ] {
        let settings = Settings::new(BackendOptions { backend_url: Some(url.into()), ..options() });
        assert!(settings.reach.is_none(), "{url}");
        assert!(lines(&settings).starts_with("backend_url must be"), "{url}");
        assert!(!lines(&settings).contains("secret"));
    }
}

#[test]
fn plain_http_beyond_this_host_is_said() {
    let url = Some("http://backend.example".into());
    let settings = Settings::new(BackendOptions { backend_url: url, ..options() });
    assert!(settings.reach.is_some());
    assert!(lines(&settings).contains("unencrypted"));
}

#[test]
fn a_key_no_header_takes_turns_the_backend_off_and_is_not_shown() {
    for key in ["", "secret\r\nX: y", "secret\0"] {
        let settings = Settings::new(BackendOptions { api_key: key.into(), ..options() });
        assert!(settings.reach.is_none());
        assert!(!lines(&settings).contains("secret"));
    }
}

#[test]
fn p28_a_ca_file_that_cannot_be_used_leaves_no_roots_and_open_goes_on() {
    let directory = std::env::temp_dir();
    let no_certificate = directory.join(format!("fx402-no-certificate-{}.pem", std::process::id()));
    std::fs::write(&no_certificate, "not a certificate").unwrap();
    for file in ["/nonexistent/ca.pem", directory.to_str().unwrap(), no_certificate.to_str().unwrap()] {
        let settings = Settings::new(BackendOptions { tls_ca_file: Some(file.into()), ..options() });
        let reach = settings.reach.as_ref().unwrap();
        assert!(matches!(&reach.roots, RootCerts::Specific(roots) if roots.is_empty()), "{file}");
        assert!(lines(&settings).contains("tls_ca_file"), "{file}");
    }
    std::fs::remove_file(no_certificate).unwrap();
}

#[test]
fn p28_a_proxy_that_cannot_be_used_turns_the_backend_off_and_its_password_is_not_shown() {
    for proxy in ["", "socks5://user:secret@p:1", "http://user:secret@", "not a proxy:secret", "ftp://secret"] {
        let settings = Settings::new(BackendOptions { proxy: Some(proxy.into()), ..options() });
        assert!(settings.reach.is_none(), "{proxy}");
        assert!(lines(&settings).contains("proxy must be"));
        assert!(!lines(&settings).contains("secret"));
    }
    let settings =
        Settings::new(BackendOptions { proxy: Some("http://user:secret@127.0.0.1:3128".into()), ..options() });
    assert!(settings.reach.unwrap().proxy.is_some());
    assert!(settings.notes.is_empty());
}
