import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { inherited } from '../../../test/support/environment.ts';
import { FaultProxy } from '../../../test/support/fault-proxy.ts';
import { pseudoRandomBytes } from '../../../test/support/files.ts';
import { createLatch } from '../../../test/support/latch.ts';
import type { TestSandbox } from '../../../test/support/sandbox.ts';
import { mediactl } from '../../../test/support/spawn.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';

export const serverProgram = fileURLToPath(new URL('../dist/mediactl-mcp.mjs', import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
export type Content = any;

/** A person with a directory of files, a state directory, and an agent whose server has their account. */
export class Person {
  readonly home = temporaryFolder();
  readonly files = join(this.home, 'files');
  readonly environment: Record<string, string>;

  constructor(sandbox: TestSandbox, key = sandbox.key) {
    mkdirSync(this.files);
    this.environment = {
      ...(inherited as Record<string, string>),
      HOME: this.home,
      MEDIACTL_BASE_URL: sandbox.url,
      MEDIACTL_API_KEY: key,
      MEDIACTL_WORKSPACE: sandbox.workspace,
      MEDIACTL_CONFIG_DIR: join(this.home, 'config'),
      MEDIACTL_STATE_DIR: join(this.home, 'state'),
    };
  }

  /** Creates files of random bytes, by their paths and sizes. */
  create(sizes: Record<string, number>): void {
    for (const [name, size] of Object.entries(sizes)) {
      const path = join(this.files, name);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, pseudoRandomBytes(size, name));
    }
  }

  /** Runs the command line. */
  async run(...args: string[]): Promise<Content> {
    const { stdout } = await mediactl([...args, '--json'], this.environment, this.home).finished;
    return JSON.parse(stdout);
  }

  /** Starts a server for an agent, by default with writes. */
  async agent(args: readonly string[] = ['--root', this.files, '--allow-writes']): Promise<Agent> {
    const { environment: env } = this;
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [serverProgram, ...args],
      env,
      stderr: 'pipe',
    });
    const client = new Client({ name: 'scripted-agent', version: '1.2' });
    await client.connect(transport);
    onTestFinished(() => client.close());
    return new Agent(client, transport.pid as number);
  }
}

/**
 * Returns the sandbox behind a proxy that holds the answer to the last chunk of an upload, so that an upload is not over
 * before something else happens.
 *
 * @param from offset from which a chunk is the last one
 */
export async function holdLastChunk(sandbox: TestSandbox, from: number) {
  const ended = createLatch();
  const proxy = await FaultProxy.start(sandbox.url, ({ method, headers }) =>
    method === 'PATCH' && Number(headers['upload-offset']) >= from ? { beforeResponse: () => ended.opened } : undefined,
  );
  return { held: { ...sandbox, url: proxy.url }, release: ended.open };
}

export class Agent {
  readonly client: Client;
  readonly pid: number;
  calls = 0;

  constructor(client: Client, pid: number) {
    this.client = client;
    this.pid = pid;
  }

  raw(name: string, args: Record<string, unknown> = {}, options: Parameters<Client['callTool']>[1] = {}) {
    this.calls++;
    return this.client.callTool({ name, arguments: args }, options) as Promise<CallToolResult>;
  }

  /** Calls a tool. @returns what it answers; `{ error }` if that is an error */
  async call(
    name: string,
    args?: Record<string, unknown>,
    options?: Parameters<Client['callTool']>[1],
  ): Promise<Content> {
    const { structuredContent, content, isError } = await this.raw(name, args, options);
    if (structuredContent) return structuredContent;
    const [first] = content;
    return { error: { code: isError ? 'refused' : 'none', message: first?.type === 'text' ? first.text : '' } };
  }

  async upload(wish: Record<string, unknown>, options?: Parameters<Client['callTool']>[1]): Promise<Content> {
    const { plan_id, error } = await this.call('upload_plan', wish);
    return error ? { error } : this.call('upload_start', { plan_id }, options);
  }
}
