/** The form of an invitation's secret. */
const secretForm = /^iam_inv_[0-9a-f]{12}_[\w-]{43}$/;
let kept: string | undefined;

/**
 * Moves the secret of an invitation from the fragment of the URL to this page's memory. As a fragment, it is neither
 * sent to the server nor in a referrer; it is removed from the URL and the history at once.
 */
export function takeInvitation(): string | undefined {
  const fragment = location.hash.slice(1);
  if (fragment === '') return kept;
  history.replaceState(null, '', location.pathname + location.search);
  const secret = fragment.startsWith('token=') ? fragment.slice('token='.length) : fragment;
  kept = secretForm.test(secret) ? secret : undefined;
  return kept;
}

/** Forgets the secret, which can't be used again. */
export function forgetInvitation(): void {
  kept = undefined;
}
