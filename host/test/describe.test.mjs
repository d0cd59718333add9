// What sandbox.describe says before a call is what the call's result says after
// it, and what the launcher reports while it runs the command: for every way to
// ask for the network.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { bash, turn, withHost, withModel } from '../host.mjs';

const networks = [undefined, false, true];
const allowed = [
  undefined,
  [],
  ['localhost'],
  ['localhost:49200'],
  ['127.0.0.1:49200'],
  ['[::1]:49200'],
  ['localhost:49200', 'localhost:49201'],
  ['example.com'],
  ['example.com:443', 'localhost:49200'],
];
const combinations = networks.flatMap((network) => allowed.map((allowedHosts) => ({ network, allowedHosts })));

// run runs what the sidecar made of a command, and asks the launcher in it for
// its report, which it prints before anything else.
async function run(command, folder) {
  const child = spawn('/bin/sh', ['-c', command.replace(" 'exec' ", " 'exec' '--json' ")], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
  const [exitCode] = await once(child, 'close');
  return { exitCode, ...output };
}

const script = (n) => {
  if (n % 2 === 1) return [{ role: 'assistant', content: 'Done.' }];
  const call = { name: 'bash', arguments: '{"command":"echo ran"}' };
  return [{ role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }];
};

test('describe, the result and the launcher agree', { timeout: 120_000, skip: process.platform === 'win32' }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sidecar-describe-'));
  const said = new Set();
  try {
    await withModel(script, async (baseUrl) => {
      await withHost([], async (host) => {
        for (const [n, asked] of combinations.entries()) {
          const streamId = `s${n}`;
          const { result: described } = await host.request('sandbox.describe', asked);
          await host.request('agent.chat.stream', turn(baseUrl, bash, { streamId, execSandbox: { enabled: true, writableRoots: [folder], ...asked } }));
          const call = await host.until(() => host.frames.filter((f) => f.method === 'tool.invoke')[n], 'tool.invoke');
          const ran = await run(call.params.arguments.command, folder);
          host.reply(call.id, { success: ran.exitCode === 0, data: ran });
          await host.until(() => host.frames.find((f) => f.method === 'stream.done' && f.params.streamId === streamId), 'stream.done');

          const what = JSON.stringify(asked);
          const { toolResult } = host.frames.find((f) => f.params?.toolResult && f.params.streamId === streamId).params;
          assert.equal(ran.stdout, 'ran\n', `${what}: ${ran.stderr}`);
          assert.deepEqual(toolResult.sandbox, described, `${what}: the result`);
          said.add(described.enforcement);
          if (described.backend === 'none') continue; // the command ran as it was
          assert.deepEqual(JSON.parse(ran.stderr), described, `${what}: the launcher`);
        }
        assert.deepEqual([...said].sort(), said.has('none') ? ['none'] : ['full', 'partial'], 'an open network is never full, a closed one is');
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
