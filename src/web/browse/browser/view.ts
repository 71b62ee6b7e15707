import { useState } from 'preact/hooks';
import type { Query } from '../protocol.ts';
import { useWindowEvent } from './hooks.ts';

/** Current query and uid of the open asset. The view is stored in the URL, so that it can be reloaded and shared. */
export type GalleryView = { query: Query; asset: string | null };

/** Parses the URL. Keeps unknown fields, so that the server refuses them instead of listing every asset. */
function parseLocation(): GalleryView {
  const given = [...new URLSearchParams(location.search)].filter(([, value]) => value);
  const { asset = null, ...query } = Object.fromEntries(given);
  return { query, asset };
}

export function formatLocation({ query, asset }: GalleryView): string {
  const search = new URLSearchParams(query as Record<string, string>);
  if (asset) search.set('asset', asset);
  return search.size > 0 ? `?${search}` : location.pathname;
}

/** Returns the query with a field set, or without the field if the value is empty. The changed field comes last. */
export function withField(query: Query, field: keyof Query, value: string | undefined): Query {
  const { [field]: _, ...rest } = query;
  return value ? { ...rest, [field]: value } : rest;
}

/** Binds the view to the URL. Returns the view, and a function that navigates to another view. */
export function useView(): [GalleryView, (next: GalleryView, how?: 'push' | 'replace') => void] {
  const [view, setView] = useState(parseLocation);
  useWindowEvent('popstate', () => setView(parseLocation()));
  const navigate = (next: GalleryView, how: 'push' | 'replace' = 'push') => {
    const address = formatLocation(next);
    if (new URL(address, location.href).href === location.href) return;
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', address);
    setView(next);
  };
  return [view, navigate];
}
