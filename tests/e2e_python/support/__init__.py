"""What the tests share: conformance cases, servers, a facilitator and a backend on loopback."""
