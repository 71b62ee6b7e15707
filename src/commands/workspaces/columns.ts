import { cell, printable } from '../../terminal/printable.ts';
import type { Column, Row } from '../../terminal/result.ts';
import type { Workspace } from '../../wire/types.ts';

export const workspaceColumns: Column<Workspace>[] = [
  { header: 'UID', value: ({ uid }) => printable(uid), whole: true },
  { header: 'NAME', value: ({ name }) => cell(name) },
  { header: 'PRIMARY', value: ({ is_primary }) => (is_primary ? 'yes' : '') },
];

export const workspaceRows = (workspace: Workspace): Row[] =>
  Object.entries(workspace).map(([field, value]) => [field.replaceAll('_', ' '), cell(value)]);
