"""The MCP server: tools for assistants, each an operation of the API (docs/assistants.md)."""
