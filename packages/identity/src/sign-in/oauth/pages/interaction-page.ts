import { createHash } from 'node:crypto';
import { interactionScript } from './interaction-script.ts';

/**
 * The pages on which people sign in and decide (see docs/reference/oauth.md#pages). They are the same for everybody;
 * the script reads the request from the fragment, and inserts text from outside only as text.
 */

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 2rem 1rem; max-width: 34rem; }
h1 { font-size: 1.375rem; line-height: 1.3; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
button, input, select { font: inherit; padding: .5rem 1rem; border-radius: .375rem; border: 1px solid GrayText; }
button { cursor: pointer; min-height: 2.75rem; }
button.main { background: #1d4ed8; border-color: #1d4ed8; color: #fff; }
button:focus-visible, input:focus-visible, select:focus-visible { outline: 3px solid #60a5fa; outline-offset: 2px; }
.row { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
.note { border-left: 4px solid #b45309; padding: .25rem .75rem; overflow-wrap: anywhere; }
label { display: block; font-weight: 600; margin-top: 1rem; }
[hidden] { display: none; }
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Nothing may be loaded, framed or sent elsewhere. */
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(interactionScript)}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * @param kind whether the request comes with the address, or a person types the code of a device
 * @param consoleUrl where people without a passkey decide; empty if nowhere
 */
export function interactionPage(kind: 'browser' | 'device', consoleUrl: string): string {
  return `<!doctype html>
<html lang="en" data-kind="${kind}" data-console="${escapeHtml(consoleUrl.replace(/\/+$/, ''))}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Connect to Baton</title>
<style>${style}</style>
<main>
<h1 id="title">Connect to Baton</h1>
<p id="status" role="status"></p>
<div id="content"></div>
<noscript><p>This page needs JavaScript to use your passkey.</p></noscript>
</main>
<script>${interactionScript}</script>
</html>
`;
}

/** The page for an error that can't be returned to the client. */
export function failurePage(error: string, description: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The request can't be completed</title>
<style>${style}</style>
<main>
<h1>The request can't be completed</h1>
<p>${escapeHtml(description === '' ? error : description)}</p>
<p>Close this page and start again from your program. If it persists, send its developer this code: <code>${escapeHtml(error)}</code></p>
</main>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
