import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keepState } from '../../client/folders.ts';
import { readTextFileIfAny } from '../../client/read-file.ts';
import { fieldsIn, jsonIn, textIn } from '../../contract/reading.ts';
import type { Context } from '../context.ts';
import { readTree } from './folders.ts';

/** What people call a thing, and its uid or what else tells which it is. */
export type KeptName = [name: string, which: string];

type Kept = { at: number; names: KeptName[] };

/**
 * Names that the service told of late, kept so that neither a table nor somebody who types costs a
 * request each time.
 */
export class KeptNames {
  readonly #context: Context;
  readonly #what: string;
  readonly #ask: () => Promise<KeptName[]>;

  /** @param ask the service; what it throws is the caller's */
  constructor(context: Context, what: string, ask: () => Promise<KeptName[]>) {
    this.#context = context;
    this.#what = what;
    this.#ask = ask;
  }

  /** As they were within so many milliseconds, or as they are. */
  async within(ageMs: number): Promise<Kept> {
    const path = await this.#path();
    const now = this.#context.clock.now();
    const kept = read(path);
    if (kept && kept.at <= now && now - kept.at < ageMs) return kept;
    const fresh = { at: now, names: await this.#ask() };
    // Where they cannot be kept, they are asked for again next time.
    await keepState(path, JSON.stringify(fresh)).catch(() => {});
    return fresh;
  }

  /** After a change of ours: the change counts, whether or not this can be forgotten. */
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

/** None, or none that can be read: it is made anew. */
function read(path: string): Kept | undefined {
  const { at, names } = fieldsIn(jsonIn(readTextFileIfAny(path)));
  const isName = (each: unknown) =>
    Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string');
  return typeof at === 'number' && Array.isArray(names) && names.every(isName)
    ? { at, names: names as KeptName[] }
    : undefined;
}

export const keptWorkspaces = (context: Context) =>
  new KeptNames(context, 'workspaces', async () => {
    const names: KeptName[] = [];
    for await (const page of (await context.api()).workspaces.list())
      names.push(...page.map(({ uid, name }): KeptName => [textIn(name) || uid, uid]));
    return names;
  });

/** Folders of the workspace in use, by path. */
export const keptFolders = (context: Context) =>
  new KeptNames(context, 'folders', async () => {
    const { tree } = await readTree(context, false);
    return tree.all.map(({ path, folder }) => [path, folder.uid]);
  });
