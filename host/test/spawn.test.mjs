// Runs commands for the sidecar, as a host does whose system confines at the
// place that spawns: the reverse call host.process.spawn. Whatever the host
// answers, there is one clear result, the enforcement is never better than the
// host said, and the next call works.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { test } from 'node:test';

import { bash, deadline, turn, withHost, withModel } from '../host.mjs';

const windows = process.platform === 'win32';

// run runs a command line and resolves with what the contract calls its answer.
function run(command) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    const output = { stdout: [], stderr: [] };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (part) => output[name].push(part));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal) return reject(new Error(`the command died of ${signal}`));
      const text = (name) => Buffer.concat(output[name]).toString();
      resolve({ exitCode: code, stdout: text('stdout'), stderr: text('stderr'), truncated: false });
    });
  });
}

// ran runs a command and says how well it was confined.
const ran = (sandbox) => async (host, call) => host.reply(call.id, { ...(await run(call.params.command)), sandbox });

const report = (enforcement) => ({ backend: 'test-helper', enforcement });
const none = { backend: 'none', enforcement: 'none' };
const unsaid = { backend: 'host-spawn', enforcement: 'none' };
const node = (script) => `${windows ? '' : 'exec '}"${process.execPath}" -e "${script}"`;
const refused = (host, call, message) => host.write({ jsonrpc: '2.0', id: call.id, error: { code: -32000, message } });

// Each case: what the host does with the first call, and what must come of it.
// short is what becomes of it where full is required.
const cases = {
  full: { answer: ran(report('full')), success: true, sandbox: report('full'), data: { exitCode: 0, stdout: 'one\n', truncated: false }, short: { success: true } },
  partial: { answer: ran(report('partial')), success: true, sandbox: report('partial') },
  none: { answer: ran(report('none')), success: true, sandbox: report('none') },
  'no report': { answer: ran(undefined), success: true, sandbox: unsaid },
  'null for a report': { answer: ran(null), success: true, sandbox: unsaid },
  'a lie': { answer: ran(report('super')), success: false, error: /^tool_error$/, sandbox: unsaid, short: { error: /^tool_error$/ } },
  'full but for something': { answer: ran({ ...report('full'), notEnforced: ['egress'] }), success: true, sandbox: { ...report('partial'), notEnforced: ['egress'] } },
  'a marker of ours': {
    answer: async (host, call) => host.reply(call.id, { ...(await run(call.params.command)), _sandbox: report('full') }),
    success: true,
    sandbox: unsaid,
  },
  'a failing command': { command: node('process.exit(3)'), answer: ran(report('full')), success: false, sandbox: report('full'), data: { exitCode: 3 }, short: {} },
  null: { answer: (host, call) => host.reply(call.id, null), success: false, error: /^tool_error$/, sandbox: none, short: { error: /^tool_error$/ } },
  'two answers': {
    answer: async (host, call) => {
      const result = await run(call.params.command);
      host.reply(call.id, { ...result, sandbox: report('partial') });
      host.reply(call.id, { ...result, stdout: 'another\n', sandbox: report('full') });
    },
    success: true,
    sandbox: report('partial'),
    data: { stdout: 'one\n' },
  },
  '1 MiB of output': {
    command: node("process.stdout.write('y'.repeat(1 << 20))"),
    answer: ran(report('partial')),
    success: true,
    sandbox: report('partial'),
    check: (data) => {
      // Cut at 256 KiB by the contract, and then to what a model is shown.
      assert.equal(data.truncated, true, 'cut output says so');
      assert.ok(data.bytes < 300 << 10, `${data.bytes} bytes of result`);
      assert.match(data.tail, /"truncated":true/);
    },
  },
  '100 MiB of output': {
    command: node("const b = 'y'.repeat(1 << 20); for (let i = 0; i < 100; i++) process.stdout.write(b)"),
    answer: ran(report('full')),
    success: false,
    error: /^tool_error$/,
    sandbox: none,
    check: (data) => assert.match(data.message, /line exceeds \d+ bytes.*Whether the command ran is unknown/),
    short: { error: /^tool_error$/ },
  },
  'no answer': { answer: () => {}, toolTimeoutMs: 300, success: false, error: /^tool_timeout$/, sandbox: undefined, short: { error: /^tool_timeout$/ } },
  'a helper that dies': {
    command: node('process.kill(process.pid, 9); setTimeout(() => {}, 60000)'),
    answer: (host, call) => run(call.params.command).then((result) => host.reply(call.id, result), (error) => refused(host, call, error.message)),
    success: false,
    error: windows ? /./ : /^host confined spawn unavailable \(the command died of SIGKILL\); command was NOT run unsandboxed$/,
    sandbox: windows ? unsaid : none,
    short: { error: /./ },
  },
  'a refusal': {
    answer: (host, call) => refused(host, call, 'not on this machine'),
    success: false,
    error: /^host confined spawn unavailable \(not on this machine\); command was NOT run unsandboxed$/,
    sandbox: none,
    short: { error: /^host confined spawn unavailable/ },
  },
};

// spawning is a turn whose commands the host spawns.
const spawning = (baseUrl, more = {}, sandbox = {}) =>
  turn(baseUrl, bash, {
    safety: { gate: 'off' },
    execSandbox: { enabled: true, hostSpawn: true, writableRoots: [tmpdir()], ...sandbox },
    ...more,
  });

// script has the model run two commands, one after the other.
const script = (first) => (n) => {
  if (n > 1) return [{ role: 'assistant', content: 'Done.' }];
  const call = { name: 'bash', arguments: JSON.stringify({ command: n === 0 ? first : 'echo two' }) };
  return [{ role: 'assistant', tool_calls: [{ index: 0, id: `call_${n + 1}`, type: 'function', function: call }] }];
};

// spawned resolves with the n-th command that the host is asked to run.
const spawned = (host, n) =>
  host.until(() => host.frames.filter((f) => f.method === 'host.process.spawn' && f.id !== undefined)[n], `spawn ${n + 1}`);

const results = (host, id) => host.frames.map((f) => f.params?.toolResult).filter((r) => r?.id === id);

const toolMessage = (request, id) => JSON.parse(request.messages.find((m) => m.tool_call_id === id).content);

for (const [name, c] of Object.entries(cases)) {
  test(`a host that answers a spawn with ${name}`, { timeout: 60_000 }, async () => {
    await withModel(script(c.command ?? 'echo one'), async (baseUrl, requests) => {
      await withHost(['--sandbox-backend', 'none'], async (host) => {
        await host.request('agent.chat.stream', spawning(baseUrl, c.toolTimeoutMs ? { toolTimeoutMs: c.toolTimeoutMs } : {}));
        const call = await spawned(host, 0);
        assert.equal(call.params.command, c.command ?? 'echo one');
        assert.equal(call.params.policy.network, false);
        await c.answer(host, call);
        const next = await spawned(host, 1);
        await ran(report('partial'))(host, next);
        const done = await host.notification('stream.done');
        assert.equal(done.params.status, 'completed');

        const [result, ...more] = results(host, 'call_1');
        assert.deepEqual(more, [], 'one result');
        assert.equal(result.success, c.success, JSON.stringify(result));
        if (c.error) assert.match(result.error, c.error);
        assert.deepEqual(result.sandbox, c.sandbox, 'the enforcement is what the host said, or none');
        const told = toolMessage(requests[1], 'call_1');
        assert.equal(told.success, c.success, 'the model is told the same');
        for (const [key, value] of Object.entries(c.data ?? {})) assert.deepEqual(told.data[key], value, key);
        c.check?.(told.data);

        const [second, ...again] = results(host, 'call_2');
        assert.deepEqual(again, []);
        assert.equal(second.success, true);
        assert.deepEqual(second.sandbox, report('partial'), 'the next call has its own report');
        assert.match(toolMessage(requests[2], 'call_2').data.stdout, /^two\r?\n$/);
      });
    });
  });

  test(`full is required of a host that answers a spawn with ${name}`, { timeout: 60_000 }, async () => {
    const want = { success: false, error: /^sandbox_unavailable$/, ...c.short };
    if (c.short && !c.short.success && !c.short.error) delete want.error;
    await withModel((n) => script(c.command ?? 'echo one')(n === 0 ? 0 : 2), async (baseUrl) => {
      await withHost(['--sandbox-backend', 'none'], async (host) => {
        const more = c.toolTimeoutMs ? { toolTimeoutMs: c.toolTimeoutMs } : {};
        await host.request('agent.chat.stream', spawning(baseUrl, more, { requireFull: true }));
        await c.answer(host, await spawned(host, 0));
        assert.equal((await host.notification('stream.done')).params.status, 'completed');
        const [result] = results(host, 'call_1');
        assert.equal(result.success, want.success, JSON.stringify(result));
        if (want.error && !want.success) assert.match(result.error, want.error);
        if (!want.success && want.error) assert.notEqual(result.sandbox?.enforcement, 'full');
      });
    });
  });
}

test('a host that dies while it runs a command', { timeout: 60_000 }, async () => {
  await withModel(script('echo one'), async (baseUrl) => {
    await withHost(['--sandbox-backend', 'none'], async (host) => {
      await host.request('agent.chat.stream', spawning(baseUrl));
      await spawned(host, 0);
      const start = performance.now();
      host.child.stdin.end();
      const { code, signal, at } = await deadline(host.exited, 5000, 'exit after the end of stdin');
      assert.deepEqual({ code, signal }, { code: 0, signal: null });
      assert.ok(at - start < 2000, `took ${at - start} ms`);
      await host.gone();
      assert.deepEqual(results(host, 'call_1').filter((r) => r.success), [], 'nothing is taken for done');
    });
  });
});
