/**
 * The script of the pages: plain JavaScript, because browsers run it as it is. The secret of the sign-in stays in a
 * variable, and the session exists for one decision, so there is no cookie that another site could use.
 */
export const interactionScript = `
'use strict';
(() => {
const isDevice = document.documentElement.dataset.kind === 'device';
const consoleUrl = document.documentElement.dataset.console || '';
const base = location.pathname.replace(/\\/oauth2\\/.*$/, '') + '/api/v1';
const fragment = new URLSearchParams(location.hash.slice(1));
const byId = (id) => document.getElementById(id);
const content = byId('content');
let session;
let wanted = isDevice ? {} : { request: fragment.get('request') || '' };

const scopes = {
  'control-plane:read': 'Read tasks, projects and everything else you can see',
  'control-plane:write': 'Work on tasks and change what you may change',
  'control-plane:admin': 'Administer the workspaces that you administer',
};
const failures = {
  invalid_user_code: 'This code is unknown or has expired. Check it on the device that shows it.',
  invalid_authorization_request: 'This request has expired. Start again from your program.',
  invalid_passkey: 'This passkey can not be used here.',
  invalid_token: 'Your sign-in has ended. Reload the page.',
  authentication_context_expired: 'Your sign-in is too old. Use your passkey again.',
  audience_not_allowed: 'Your organisation offers nothing that this program requests.',
  rate_limited: 'Too many attempts. Wait some minutes.',
};

function make(name, text, more) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  return Object.assign(element, more);
}

async function send(path, body) {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'omit',
    cache: 'no-store',
  });
  const text = await response.text();
  const json = text === '' ? {} : JSON.parse(text);
  if (response.ok) return json;
  const code = typeof json.detail === 'string' ? json.detail : 'invalid_request';
  throw new Error(failures[code] || 'The request failed (' + code + '). Try again.');
}

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const text64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');

async function signIn() {
  const { publicKey, state } = await send('/passkeys:sign-in-options');
  const found = await navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      allowCredentials: (publicKey.allowCredentials || []).map((one) => ({ ...one, id: bytes(one.id) })),
    },
  });
  const { authenticatorData, clientDataJSON, signature, userHandle } = found.response;
  const credential = {
    id: found.id,
    rawId: text64(found.rawId),
    type: found.type,
    response: {
      authenticatorData: text64(authenticatorData),
      clientDataJSON: text64(clientDataJSON),
      signature: text64(signature),
      ...(userHandle ? { userHandle: text64(userHandle) } : {}),
    },
  };
  const { token } = await send('/passkeys:sign-in', { state, credential });
  session = token;
}

async function signOut() {
  const token = session;
  session = undefined;
  if (token) await send('/browser-sessions:revoke-self', { token, reason: 'decided' }).catch(() => {});
}

function show(title, ...parts) {
  byId('title').textContent = title;
  content.replaceChildren(...parts);
  report('');
}
function report(message) {
  byId('status').textContent = message;
}
function button(label, act, isMain) {
  const made = make('button', label, { type: 'button', className: isMain ? 'main' : '' });
  made.addEventListener('click', async () => {
    for (const one of content.querySelectorAll('button')) one.disabled = true;
    report('');
    try {
      await act();
    } catch (error) {
      report(error.name === 'NotAllowedError' ? 'The passkey was not used.' : error.message);
    }
    for (const one of content.querySelectorAll('button')) one.disabled = false;
  });
  return made;
}
function row(...buttons) {
  const made = make('div', undefined, { className: 'row' });
  made.append(...buttons);
  return made;
}
function fact(list, name, value) {
  list.append(make('dt', name), make('dd', value));
}

function showSignIn() {
  if (!window.PublicKeyCredential && consoleUrl === '') {
    show('Connect to Baton', make('p', 'This browser has no passkeys. Open the page in another browser.'));
    return;
  }
  const parts = [make('p', 'A program requests access to Baton. Sign in to see which one, and decide.')];
  let code;
  if (isDevice) {
    const label = make('label', 'Code that the device shows', { htmlFor: 'code' });
    code = make('input', undefined, { id: 'code', autocomplete: 'off', maxLength: 20, spellcheck: false });
    code.value = (fragment.get('code') || '').slice(0, 20);
    parts.push(label, code);
  }
  const ways = [];
  if (window.PublicKeyCredential) ways.push(button('Sign in with a passkey', async () => {
    if (code) wanted = { userCode: code.value.trim() };
    if (code && wanted.userCode === '') throw new Error('Enter the code first.');
    await signIn();
    await showRequest();
  }, true));
  // The console knows the identity providers, and whether the person is signed in there.
  if (consoleUrl !== '') ways.push(button('Sign in another way', () => {
    const given = code ? { code: code.value.trim() } : { request: wanted.request };
    location.assign(consoleUrl + '/consent#' + new URLSearchParams(given));
  }));
  parts.push(row(...ways));
  show(isDevice ? 'Connect a device' : 'Connect to Baton', ...parts);
}

async function showRequest() {
  let found;
  try {
    found = await send('/oauth-requests:read', { token: session, ...wanted });
  } catch (error) {
    await signOut();
    throw error;
  }
  const { client, device } = found;
  const list = make('dl');
  fact(list, 'Program', client.name);
  if (client.host) fact(list, 'Published by', client.host);
  if (client.redirectHost) fact(list, 'Sends you to', client.redirectHost);
  if (device) {
    fact(list, 'Requested from', device.address);
    fact(list, 'Requested at', new Date(device.requestedAt).toLocaleString());
    fact(list, 'Device', device.userAgent || 'unknown');
  }
  fact(list, 'Organisation', found.tenant.name);
  fact(list, 'Service', found.service);
  const rights = make('ul');
  for (const scope of found.scopes) rights.append(make('li', scopes[scope] || scope));
  const parts = [list];
  if (client.kind === 'document')
    parts.push(make('p', 'The program chose this name itself. Allow it only if you have just started it and know ' + client.host + '.', { className: 'note' }));
  if (device)
    parts.push(make('p', 'Allow this only if you started it yourself on that device. Nobody from Baton ever sends you a code.', { className: 'note' }));
  let chosen;
  if (found.agents.length > 0) {
    chosen = make('select', undefined, { id: 'as' });
    chosen.append(make('option', found.person.name + ' (you)', { value: '' }));
    for (const agent of found.agents) chosen.append(make('option', agent.name + ' (agent)', { value: agent.id }));
    parts.push(make('label', 'It acts as', { htmlFor: 'as' }), chosen);
  } else fact(list, 'It acts as', found.person.name + ' (you)');
  parts.push(make('p', 'It gets these rights:'), rights);
  const places = make('p', placesOf(found.workspaces), { id: 'places' });
  parts.push(places);
  if (chosen) chosen.addEventListener('change', async () => {
    places.textContent = 'Reading the workspaces …';
    const principalId = chosen.value;
    const answer = await send('/oauth-requests:read', { token: session, ...wanted, ...(principalId ? { principalId } : {}) })
      .catch(() => ({ workspaces: null }));
    if (chosen.value === principalId) places.textContent = placesOf(answer.workspaces);
  });
  parts.push(row(
    button('Allow', () => decide('allow', chosen && chosen.value, found.scopes), true),
    button('Refuse', () => decide('deny')),
  ));
  show('Allow ' + client.name + ' to use Baton?', ...parts);
}

function placesOf(workspaces) {
  if (!workspaces) return 'They apply in every workspace in which the one it acts as has them.';
  if (workspaces.names.length === 0) return 'At present, they apply in no workspace.';
  const more = workspaces.hasMore ? ' and more' : '';
  return 'They apply in these workspaces, as far as the one it acts as has them: ' + workspaces.names.join(', ') + more + '.';
}

async function decide(decision, principalId, shown) {
  // Exactly the rights that the page shows: the organisation may offer more of them in the meantime.
  const allowed = decision === 'allow' ? { scopes: shown, endsSession: true } : {};
  const body = { token: session, ...wanted, decision, ...allowed, ...(principalId ? { principalId } : {}) };
  const { redirectTo } = await send('/oauth-requests:decide', body);
  // After an approval the session expires with the code, which is valid only as long as the session is.
  if (decision === 'allow') session = undefined;
  else await signOut();
  if (redirectTo) {
    show('Returning to the program');
    location.replace(redirectTo);
  } else if (decision === 'allow') show('Connected', make('p', 'Return to your device. You can close this page.'));
  else show('Refused', make('p', 'The device gets no access. You can close this page.'));
}

showSignIn();
})();
`;
