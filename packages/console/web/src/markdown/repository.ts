import type { Task } from '@baton/sdk';
import { linkTarget } from './links.ts';

/** The path of a repository in the URL of a commit or a pull request on GitHub, GitLab or Forgejo. */
const form = /^((?:\/[\w.-]+){2,8}?)(\/-)?\/(?:commits?|pulls?|merge_requests)\/[\w.-]+/;

/**
 * The URL prefix of commits that texts about a task mention. It is that of the repository to which the task's evidence
 * links, if the evidence links to only one.
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
