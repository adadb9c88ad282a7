//! A merchant's public origin: https, a host, perhaps a port; nothing else.

use anyhow::{Context, Result, bail, ensure};

/// `https://api.example.com` as given, or an error that names what is wrong.
pub fn parse(text: &str) -> Result<String> {
    ensure!(text.len() <= 256 && text.is_ascii(), "public origin: at most 256 ASCII characters");
    let url = url::Url::parse(text).with_context(|| format!("public origin {text:?} is not a URL"))?;
    if url.scheme() != "https" {
        bail!("public origin {text:?}: only https:// origins are handed to servers");
    }
    ensure!(
        url.path() == "/" && url.query().is_none() && url.fragment().is_none(),
        "public origin {text:?}: an origin has no path, query or fragment; try {}",
        url.origin().ascii_serialization()
    );
    ensure!(url.username().is_empty() && url.password().is_none(), "public origin: no user or password");
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn e18_https_only_and_an_origin_only() {
        assert_eq!(parse("https://api.example.com/").unwrap(), "https://api.example.com");
        assert_eq!(parse("https://api.example.com:8443").unwrap(), "https://api.example.com:8443");
        for bad in [
            "http://api.example.com",
            "https://api.example.com/v1",
            "https://user:pw@api.example.com",
            "https://api.example.com?x=1",
            "javascript:alert(1)",
            "api.example.com",
            "",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
