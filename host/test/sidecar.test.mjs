// Drives the sidecar the way a desktop host does: a child process, three pipes,
// and a language model that is an HTTP server. It needs Node and nothing else.
//
//   node --test host/test
//
// SIDECAR_BINARY names the program to test; without it the program is built.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
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
function deadline(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Host is the least a host has to be: it numbers requests, keeps their
// promises, and hands over what the sidecar asks and tells.
class Host {
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
async function withHost(args, fn) {
  const host = new Host(args);
  try {
    await host.ready();
    await fn(host);
  } finally {
    host.child.kill('SIGKILL');
  }
}

// model answers chat completions: first with a tool call, then with text.
async function withModel(fn) {
  const requests = [];
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const part of req.setEncoding('utf8')) body += part;
    requests.push(JSON.parse(body));
    const first = requests.length === 1;
    const deltas = first
      ? [
          { role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '{"city":' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '"Zürich"}' } }] },
        ]
      : [{ role: 'assistant', content: 'It is ' }, { content: 'sunny ☀.' }];
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const delta of deltas) {
      res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    }
    res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: first ? 'tool_calls' : 'stop' }] })}\n\n`);
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

function turn(baseUrl) {
  return {
    streamId: 's1',
    provider: 'openai_compat',
    baseUrl,
    apiKey: 'test',
    model: 'test',
    chatId: 'chat-1',
    projectRoot: '/srv/project',
    messages: [{ role: 'user', content: 'How is the weather?' }],
    toolsViaHost: true,
    tools: [
      {
        type: 'function',
        function: { name: 'lookup', description: 'Weather of a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
      },
    ],
  };
}

// descendants lists the processes below a process, where the kernel tells.
function descendants(pid) {
  if (!existsSync('/proc/self/stat')) return [];
  const parents = new Map();
  for (const name of readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // the process has just ended
    }
  }
  const below = [pid];
  for (const parent of below) for (const [child, p] of parents) if (p === parent) below.push(child);
  return below.slice(1);
}

for (const args of [[], ['-m', 'steerable_sidecar']]) {
  test(`a tool turn, started with [${args}]`, { timeout: 30_000 }, async () => {
    await withModel(async (baseUrl, requests) => {
      await withHost(args, async (host) => {
        const started = await host.request('agent.chat.stream', turn(baseUrl));
        assert.deepEqual(started.result, { streamId: 's1' });
        const call = await host.reverseCall('tool.invoke');
        assert.match(call.id, /^srv_\d+$/);
        assert.equal(call.params.name, 'lookup');
        assert.deepEqual(call.params.arguments, { city: 'Zürich' });
        assert.deepEqual(call.params.context, { chatId: 'chat-1', projectRoot: '/srv/project' });
        host.reply(call.id, { success: true, data: { sky: 'clear' } });
        const done = await host.notification('stream.done');
        assert.equal(done.params.status, 'completed');
        assert.equal(done.params.ok, true);

        const about = host.frames.filter((f) => f.params?.streamId === 's1' || f.result?.streamId === 's1');
        assert.deepEqual(about[0].result, { streamId: 's1' }, 'the response comes first');
        assert.deepEqual(about[1].params, { streamId: 's1' }, 'then an empty chunk');
        assert.equal(about.at(-1), done, 'stream.done comes last');
        const text = about.map((f) => f.params?.delta ?? '').join('');
        assert.equal(text, 'It is sunny ☀.');

        assert.equal(requests.length, 2);
        const message = requests[1].messages.at(-1);
        assert.equal(message.role, 'tool');
        assert.equal(message.tool_call_id, 'call_1');
        assert.deepEqual(JSON.parse(message.content).data, { sky: 'clear' });

        await host.request('system.shutdown');
        const { code, signal } = await deadline(host.exited, 6000, 'exit after system.shutdown');
        assert.deepEqual({ code, signal }, { code: 0, signal: null });
        await host.gone();
        assert.equal(host.frames.at(-1).method, 'lifecycle.shutdown');
      });
    });
  });
}

test('a host that dies while it is being asked', { timeout: 30_000 }, async () => {
  await withModel(async (baseUrl) => {
    await withHost([], async (host) => {
      await host.request('agent.chat.stream', turn(baseUrl));
      await host.reverseCall('tool.invoke');
      const children = descendants(host.child.pid);
      const start = performance.now();
      host.child.stdin.end();
      const { code, signal, at } = await deadline(host.exited, 5000, 'exit after the end of stdin');
      assert.deepEqual({ code, signal }, { code: 0, signal: null });
      assert.ok(at - start < 2000, `took ${at - start} ms`);
      await host.gone();
      assert.equal(host.frames.at(-1).method, 'lifecycle.shutdown');
      assert.equal(host.frames.at(-1).params.reason, 'eof');
      for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, `process ${pid} is left`);
    });
  });
});

test('a host that goes away without a word', { timeout: 30_000 }, async () => {
  await withHost([], async (host) => {
    host.child.stdin.destroy();
    host.child.stdout.destroy();
    host.child.stderr.destroy();
    const { signal } = await deadline(host.exited, 5000, 'exit after every pipe is gone');
    assert.equal(signal, null, 'a broken pipe is an orderly stop, not a death by SIGPIPE');
  });
});
