// Drives the sidecar the way a desktop host does.
//
//   node --test host/test
//
// SIDECAR_BINARY names the program to test; without it the program is built.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { deadline, turn, withHost, withModel as serveModel } from '../host.mjs';

// withModel serves a model that first calls a tool and then answers.
function withModel(fn) {
  const first = [
    { role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '{"city":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"Zürich"}' } }] },
  ];
  return serveModel((n) => (n === 0 ? first : [{ role: 'assistant', content: 'It is ' }, { content: 'sunny ☀.' }]), fn);
}

const weather = (baseUrl) =>
  turn(
    baseUrl,
    { name: 'lookup', description: 'Weather of a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    { chatId: 'chat-1', projectRoot: '/srv/project', messages: [{ role: 'user', content: 'How is the weather?' }] },
  );

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
        const started = await host.request('agent.chat.stream', weather(baseUrl));
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
      await host.request('agent.chat.stream', weather(baseUrl));
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
