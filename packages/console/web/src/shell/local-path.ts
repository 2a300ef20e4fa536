/** The destination after the sign-in: a path in the console, never another site. */
export function localPath(next: string | null): string {
  if (!next?.startsWith('/') || !URL.canParse(next, location.origin)) return '/';
  const { origin, pathname, search } = new URL(next, location.origin);
  // A path that begins with two slashes refers to another host. `/.//host` is normalized to one.
  return origin === location.origin && !pathname.startsWith('//') ? pathname + search : '/';
}
