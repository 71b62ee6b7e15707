import { stat } from 'node:fs/promises';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { bytes, cell, printable } from '../../terminal/printable.ts';
import { type Column, listBy } from '../../terminal/result.ts';
import type { UploadJob } from '../../upload/job.ts';
import { paths } from '../../wire/paths.ts';

type Planned = {
  path: string;
  /** Null for stdin, whose length nobody knows before. */
  size_bytes: number | null;
  folder: string | null;
  workspace: string;
  content_type: string | null;
  request: string;
};

/** --dry-run: what would go where. */
export async function plan(jobs: readonly UploadJob[], context: Context) {
  const { baseUrl } = await context.account();
  const rows: Planned[] = [];
  for (const { path, contentType, workspace, folder } of jobs)
    rows.push({
      path,
      size_bytes: path === '-' ? null : await sizeOf(path),
      folder: folder ?? null,
      workspace,
      content_type: contentType ?? null,
      request: `POST ${new URL(paths.upload(), baseUrl)}`,
    });
  const total = rows.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0);
  const files = `${rows.length} file${rows.length === 1 ? '' : 's'}`;
  context.terminal.say(`dry run: would upload ${files}, ${bytes(total)}`);
  return listBy<Planned>(({ path }) => path, rows, planColumns, 'nothing to upload');
}

const planColumns: Column<Planned>[] = [
  { header: 'PATH', value: ({ path }) => printable(path), least: 18 },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) =>
      size === null ? '' : isTerminal ? bytes(size) : String(size),
    least: 9,
  },
  { header: 'FOLDER', value: ({ folder }) => cell(folder), least: 12 },
  { header: 'CONTENT TYPE', value: ({ content_type }) => cell(content_type), least: 12 },
];

const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    (error: Error) => {
      throw usageError(`cannot read ${path}`, 'check the path', error.message);
    },
  );
