import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keepState } from '../../client/folders.ts';
import { readTextFileIfAny } from '../../client/read-file.ts';
import { fieldsIn, jsonIn, textIn } from '../../contract/reading.ts';
import type { Context } from '../context.ts';
import { readTree } from './folders.ts';

/** A name, and the uid or other identifier of what it names. */
export type KeptName = [name: string, which: string];

type Kept = { at: number; names: KeptName[] };

/** On-disk cache of names from the service: tables and shell completion need no request each time. */
export class KeptNames {
  readonly #context: Context;
  readonly #what: string;
  readonly #ask: () => Promise<KeptName[]>;

  /** @param fetchNames fetches the names; its errors reach the caller */
  constructor(context: Context, what: string, ask: () => Promise<KeptName[]>) {
    this.#context = context;
    this.#what = what;
    this.#ask = ask;
  }

  /** Returns the cached names unless they are older than `maxAgeMs`; otherwise fetches them. */
  async within(ageMs: number): Promise<Kept> {
    const path = await this.#path();
    const now = this.#context.clock.now();
    const kept = read(path);
    if (kept && kept.at <= now && now - kept.at < ageMs) return kept;
    const fresh = { at: now, names: await this.#ask() };
    // A failed write only costs another request next time.
    await keepState(path, JSON.stringify(fresh)).catch(() => {});
    return fresh;
  }

  /** Invalidates the cache after a change; ignores errors, since the change itself succeeded. */
  async forget(): Promise<void> {
    await rm(await this.#path(), { force: true }).catch(() => {});
  }

  async #path(): Promise<string> {
    const { profile, baseUrl, workspace } = await this.#context.account();
    const place = createHash('sha256')
      .update(JSON.stringify([this.#what, profile, baseUrl.href, workspace]))
      .digest('hex');
    return join(this.#context.stateDir, 'names', place.slice(0, 16));
  }
}

/** Reads a cache file; undefined if it is missing or unreadable. */
function read(path: string): Kept | undefined {
  const { at, names } = fieldsIn(jsonIn(readTextFileIfAny(path)));
  const isName = (each: unknown) =>
    Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string');
  return typeof at === 'number' && Array.isArray(names) && names.every(isName)
    ? { at, names: names as KeptName[] }
    : undefined;
}

/** Creates the cache of workspace uids by name. */
export const keptWorkspaces = (context: Context) =>
  new KeptNames(context, 'workspaces', async () => {
    const names: KeptName[] = [];
    for await (const page of (await context.api()).workspaces.list())
      names.push(...page.map(({ uid, name }): KeptName => [textIn(name) || uid, uid]));
    return names;
  });

/** Creates the cache of folder uids by path, for the workspace in use. */
export const keptFolders = (context: Context) =>
  new KeptNames(context, 'folders', async () => {
    const { tree } = await readTree(context, false);
    return tree.all.map(({ path, folder }) => [path, folder.uid]);
  });
