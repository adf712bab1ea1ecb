"""Shops at the sandbox merchant through the MCP server, with the official client of MCP.

    python shop.py FOLDER      the folder has the programs `mcp-server` and `merchant`

Over stdio and over HTTP: with what allows it, one order is placed; without, none can be, whatever the
client tries; and where the user is to be asked, what they answer decides.
"""

import asyncio
import contextlib
import json
import re
import sys
import urllib.request

import jsonschema
from mcp import Client, StdioServerParameters, types

FOLDER = sys.argv[1]
TOOLS = {
    "create_checkout", "get_checkout", "update_checkout", "cancel_checkout",
    "create_cart", "get_cart", "update_cart", "cancel_cart",
    "search_catalog", "lookup_catalog", "get_product", "get_order",
}
COMPLETE = "complete_checkout"


@contextlib.asynccontextmanager
async def program(name, *arguments, stream):
    """Runs a program, and gives what it says first of an URL."""
    pipes = {stream: asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(f"{FOLDER}/{name}", *arguments, **pipes)
    try:
        while True:
            line = await asyncio.wait_for(getattr(process, stream).readline(), 30)
            assert line, f"{name} ended"
            url = re.match(r"http://\S+(/mcp|/ucp)$", line.decode().strip())
            if url:
                yield url[0]
                return
    finally:
        process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def client(transport, merchant, *arguments, **settings):
    arguments = ["--merchant", merchant, "--development", *arguments]
    if transport == "stdio":
        server = StdioServerParameters(command=f"{FOLDER}/mcp-server", args=arguments)
        async with Client(server, **settings) as connected:
            yield connected
        return
    arguments += ["--http", "127.0.0.1:0"]
    async with program("mcp-server", *arguments, stream="stderr") as url:
        async with Client(url, **settings) as connected:
            yield connected


def orders(merchant):
    with urllib.request.urlopen(f"{merchant}/sandbox/orders") as answer:
        return json.load(answer)


async def call(shopper, tools, name, arguments):
    """Calls a tool as a careful client does: with arguments that its schema takes."""
    jsonschema.Draft202012Validator(tools[name].input_schema).validate(arguments)
    result = await shopper.call_tool(name, arguments)
    assert not result.is_error, (name, result.content[0].text)
    return result.structured_content


async def prepare(shopper, tools):
    """From a search to a checkout that is ready, by what the answers say."""
    found = await call(shopper, tools, "search_catalog", {"body": {"query": "mug"}})
    variant = found["products"][0]["variants"][0]["id"]
    line = {"item": {"id": variant}, "quantity": 2}
    checkout = await call(shopper, tools, "create_checkout", {"body": {"line_items": [line]}})
    assert checkout["status"] == "incomplete", checkout["status"]
    home = {"id": "home", "street_address": "1 Main Street", "address_country": "US"}
    lines = [{**line, "id": checkout["line_items"][0]["id"]}]
    method = {
        "type": "shipping",
        "line_item_ids": [lines[0]["id"]],
        "destinations": [home],
        "selected_destination_id": "home",
    }
    body = {
        "line_items": lines,
        "buyer": {"email": "ada@example.com"},
        "fulfillment": {"methods": [method]},
    }
    update = {"id": checkout["id"], "body": body}
    checkout = await call(shopper, tools, "update_checkout", update)
    group = checkout["fulfillment"]["methods"][0]["groups"][0]
    method["groups"] = [{"id": group["id"], "selected_option_id": group["options"][0]["id"]}]
    checkout = await call(shopper, tools, "update_checkout", update)
    assert checkout["status"] == "ready_for_complete", checkout["messages"]
    return checkout


def completion(checkout):
    (handler,) = next(iter(checkout["ucp"]["payment_handlers"].values()))
    instrument = {
        "id": "instrument_1",
        "handler_id": handler["id"],
        "type": "card",
        "selected": True,
        "credential": {"type": "token", "token": "tok_sandbox"},
    }
    return {"id": checkout["id"], "body": {"payment": {"instruments": [instrument]}}}


async def listed(shopper):
    tools = (await shopper.list_tools()).tools
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    return {tool.name: tool for tool in tools}


async def places_one(transport, merchant):
    """With `--allow-complete --unattended`: one order."""
    before = len(orders(merchant))
    async with client(transport, merchant, "--allow-complete", "--unattended") as shopper:
        tools = await listed(shopper)
        assert set(tools) == TOOLS | {COMPLETE}, sorted(tools)
        checkout = await prepare(shopper, tools)
        placed = await call(shopper, tools, COMPLETE, completion(checkout))
        assert placed["status"] == "completed", placed
    ids = [order["id"] for order in orders(merchant)[before:]]
    assert ids == [placed["order"]["id"]], ids


async def cannot(transport, merchant, *arguments):
    """Without them, or without a user to ask: none, although the tool is called by its name."""
    before = orders(merchant)
    async with client(transport, merchant, *arguments) as shopper:
        tools = await listed(shopper)
        assert set(tools) == TOOLS, sorted(tools)
        checkout = await prepare(shopper, tools)
        result = await shopper.call_tool(COMPLETE, completion(checkout))
        assert result.is_error, result
        assert "order" in result.content[0].text, result.content[0].text
        again = await call(shopper, tools, "get_checkout", {"id": checkout["id"]})
        assert again["status"] == "ready_for_complete", again["status"]
    assert orders(merchant) == before


async def asks(transport, merchant, confirm):
    """With `--allow-complete` alone: what the user says."""
    before = len(orders(merchant))
    asked = []

    async def user(_, question):
        asked.append(question.message)
        return types.ElicitResult(action="accept", content={"confirm": confirm})

    allowed = client(transport, merchant, "--allow-complete", elicitation_callback=user)
    async with allowed as shopper:
        tools = await listed(shopper)
        checkout = await prepare(shopper, tools)
        result = await shopper.call_tool(COMPLETE, completion(checkout))
        assert result.is_error != confirm, result
    assert len(asked) == 1 and "Total" in asked[0], asked
    assert len(orders(merchant)) - before == confirm


async def main():
    passed, failed = 0, 0
    async with program("merchant", "--port", "0", stream="stdout") as profile:
        merchant = profile.removesuffix("/.well-known/ucp")
        for transport in ["stdio", "http"]:
            for name, run in [
                ("places one", places_one(transport, merchant)),
                ("cannot", cannot(transport, merchant)),
                ("cannot ask", cannot(transport, merchant, "--allow-complete")),
                ("asks, yes", asks(transport, merchant, True)),
                ("asks, no", asks(transport, merchant, False)),
            ]:
                try:
                    await asyncio.wait_for(run, 60)
                    passed += 1
                    print(f"ok    {name}, over {transport}")
                except Exception as error:
                    failed += 1
                    print(f"FAIL  {name}, over {transport}: {error!r}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(asyncio.run(main()))
