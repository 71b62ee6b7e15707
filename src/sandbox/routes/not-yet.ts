import { type App, apiPrefix, scoped } from '../http.ts';
import { ServiceError } from '../service-error.ts';
import type { Scope } from '../store/keys.ts';

/** Endpoints of §4 that this sandbox does not have yet. They answer 501, and `status` lists them. */
export const notYet: readonly (readonly [method: string, path: string, scope: Scope])[] = [
  ['GET', '/workspaces/:uid/embed-settings/', 'Read Assets'],
  ['PATCH', '/workspaces/:uid/embed-settings/', 'Write Assets'],
  ['POST', '/workspaces/:uid/embed-domains/', 'Write Assets'],
  ['DELETE', '/workspaces/:uid/embed-domains/', 'Write Assets'],
  ['GET', '/workspaces/:uid/folders/', 'Read Assets'],
  ['POST', '/workspaces/:uid/folders/', 'Write Assets'],
  ['PATCH', '/workspaces/:uid/folders/:folder_uid/', 'Write Assets'],
  ['DELETE', '/workspaces/:uid/folders/:folder_uid/', 'Delete Assets'],
];

export function notYetRoutes(app: App): void {
  for (const [method, path, scope] of notYet)
    app.on(method, `${apiPrefix}${path}`, scoped(scope), () => {
      throw new ServiceError(501, `${method} ${path} is not in this sandbox yet`);
    });
}
