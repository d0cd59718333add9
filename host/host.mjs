// The least a desktop host has to be, for tests: a child process, three pipes,
// and a language model that is an HTTP server. It needs Node and nothing else.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const marker = '__SIDECAR_READY__:';
let binary = process.env.SIDECAR_BINARY;
let built;

before(() => {
  if (binary) return;
  built = mkdtempSync(join(tmpdir(), 'sidecar-'));
  binary = join(built, process.platform === 'win32' ? 'steerable-sidecar.exe' : 'steerable-sidecar');
  execFileSync('go', ['build', '-o', binary, './cmd/steerable-sidecar'], { cwd: root, stdio: 'inherit' });
});

after(() => {
  if (built) rmSync(built, { recursive: true, force: true });
});

// deadline rejects when a promise takes too long, and says what it was.
export function deadline(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Host is the least a host has to be: it numbers requests, keeps their
// promises, and hands over what the sidecar asks and tells.
export class Host {
  constructor(args = []) {
    this.frames = [];
    this.stderr = '';
    this.waiters = [];
    this.pending = new Map();
    this.nextId = 1;
    this.child = spawn(binary, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {}, windowsHide: true });
    this.child.stdin.on('error', () => {}); // EPIPE must not kill the host
    this.child.stdout.setEncoding('utf8');
    this.child.stderr.setEncoding('utf8');
    this.exited = once(this.child, 'exit').then(([code, signal]) => ({ code, signal, at: performance.now() }));
    this.closed = once(this.child, 'close'); // every holder of the pipes is gone
    this.child.stderr.on('data', (text) => {
      this.stderr += text;
      this.wake();
    });
    let rest = '';
    this.child.stdout.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.take(JSON.parse(line)); // every line must be a frame
    });
  }

  take(frame) {
    assert.equal(frame.jsonrpc, '2.0');
    this.frames.push(frame);
    if (frame.method === undefined) {
      this.pending.get(frame.id)?.(frame);
      this.pending.delete(frame.id);
    }
    this.wake();
  }

  wake() {
    for (const waiter of [...this.waiters]) waiter();
  }

  // until resolves with the first truthy value of the condition.
  until(condition, what) {
    let waiter;
    const met = new Promise((resolve) => {
      waiter = () => {
        const value = condition();
        if (value) resolve(value);
      };
      this.waiters.push(waiter);
      waiter();
    });
    return deadline(met, 10_000, what).finally(() => {
      this.waiters = this.waiters.filter((w) => w !== waiter);
    });
  }

  notification(method) {
    return this.until(() => this.frames.find((f) => f.method === method && f.id === undefined), method);
  }

  reverseCall(method) {
    return this.until(() => this.frames.find((f) => f.method === method && f.id !== undefined), method);
  }

  request(method, params) {
    const id = this.nextId++;
    const answer = new Promise((resolve) => this.pending.set(id, resolve));
    this.write({ jsonrpc: '2.0', id, method, params });
    return deadline(answer, 10_000, method);
  }

  reply(id, result) {
    this.write({ jsonrpc: '2.0', id, result });
  }

  write(frame) {
    this.child.stdin.write(JSON.stringify(frame) + '\n');
  }

  async ready() {
    const line = await this.until(() => this.stderr.split('\n').slice(0, -1).find((l) => l.startsWith(marker)), 'ready marker');
    const health = JSON.parse(line.slice(marker.length));
    const { params } = await this.notification('lifecycle.ready');
    assert.equal(health.status, 'ok');
    assert.equal(health.pid, this.child.pid);
    assert.equal(params.pid, this.child.pid);
    assert.equal(params.protocolVersion, '0.1.0');
    assert.deepEqual(params.listenInfo, { transport: 'stdio' });
  }

  // gone asserts that neither the process nor anything it started is left.
  async gone() {
    await deadline(this.closed, 2000, 'end of the pipes');
    assert.throws(() => process.kill(this.child.pid, 0), { code: 'ESRCH' });
  }
}

// withHost ends the sidecar even when the test fails.
export async function withHost(args, fn) {
  const host = new Host(args);
  try {
    await host.ready();
    await fn(host);
  } finally {
    host.child.kill('SIGKILL');
  }
}

// withModel serves chat completions; script(n) is what the n-th one answers: a
// list of deltas, from 0. Requests are kept.
export async function withModel(script, fn) {
  const requests = [];
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const part of req.setEncoding('utf8')) body += part;
    const deltas = script(requests.length);
    requests.push(JSON.parse(body));
    const calls = deltas.some((delta) => delta.tool_calls);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const delta of deltas) {
      res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    }
    res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }] })}\n\n`);
    res.end(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } })}\n\ndata: [DONE]\n\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await fn(`http://127.0.0.1:${server.address().port}/v1`, requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// turn is a turn of the served model, which may call one tool of the host.
export function turn(baseUrl, tool, more) {
  return {
    streamId: 's1',
    provider: 'openai_compat',
    baseUrl,
    apiKey: 'test',
    model: 'test',
    messages: [{ role: 'user', content: 'Run it.' }],
    toolsViaHost: true,
    tools: [{ type: 'function', function: tool }],
    ...more,
  };
}

// bash is a tool that runs a command.
export const bash = { name: 'bash', description: 'Run a command', parameters: { type: 'object', properties: { command: { type: 'string' } } } };
