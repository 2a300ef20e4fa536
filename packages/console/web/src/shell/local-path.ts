/** Where to go after the sign-in: a path of the console, never another site. */
export function localPath(next: string | null): string {
  if (!next?.startsWith('/') || !URL.canParse(next, location.origin)) return '/';
  const { origin, pathname, search } = new URL(next, location.origin);
  // A path that begins with two slashes, as `/.//host` does once its dots are gone, names another host.
  return origin === location.origin && !pathname.startsWith('//') ? pathname + search : '/';
}
