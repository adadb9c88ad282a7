"""Small real merchants that the tests run under real servers. Set up by environment variables:

FACILITATOR  URL of the facilitator
BACKEND      URL of the backend; without it there is no forge-x402 at all
OPTIONS      more options, as JSON
"""
