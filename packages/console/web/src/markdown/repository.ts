import type { Task } from '@baton/sdk';
import { linkTarget } from './links.ts';

/** The path of a repository in an address of a commit or a pull request, at GitHub, GitLab or Forgejo. */
const form = /^((?:\/[\w.-]+){2,8}?)(\/-)?\/(?:commits?|pulls?|merge_requests)\/[\w.-]+/;

/**
 * The beginning of the addresses of commits that texts about a task name: of the repository that its evidence links to, if
 * it is only one.
 */
export function commitAddressOf({ evidence }: Pick<Task, 'evidence'>): string | undefined {
  const addresses = new Set(
    evidence.flatMap((one) => (one.kind === 'external' ? (commitAddressIn(one.externalRef.url) ?? []) : [])),
  );
  const [address] = addresses;
  return addresses.size === 1 ? address : undefined;
}

function commitAddressIn(address: string | null | undefined): string | undefined {
  const url = linkTarget(address ?? '');
  const [, path, separator = ''] = form.exec(url?.pathname ?? '') ?? [];
  return url === undefined || path === undefined ? undefined : `${url.origin}${path}${separator}/commit/`;
}
