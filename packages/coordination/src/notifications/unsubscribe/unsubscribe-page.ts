import { escapeHtml } from '../messages/plain-text.ts';

/**
 * No script, no cache, and no address passed to another site, because the address contains the token. With
 * `no-referrer` browsers would send the form with `Origin: null`, which the default run rejects as foreign.
 */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** Requires a click to unsubscribe, so that programs that follow links in e-mails change nothing. */
export function confirmationPage(about: string): string {
  return page(
    'Unsubscribe',
    `<p>Stop e-mail about ${escapeHtml(about)}?</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>Unsubscribe</button></form>`,
  );
}

export function donePage(about: string): string {
  return page(
    'You are unsubscribed',
    `<p>You get no more e-mail about ${escapeHtml(about)}. You can turn it on again in your notification settings.</p>`,
  );
}

export function invalidPage(): string {
  return page(
    'This link is not valid',
    '<p>Open the link from the e-mail again, or sign in to change your notifications.</p>',
  );
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${title}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}
button{font:inherit;padding:.5rem 1rem}</style></head>
<body><main><h1>${title}</h1>
${content}
</main></body></html>
`;
}
