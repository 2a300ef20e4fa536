import { useSyncExternalStore } from 'react';

/** The person who is notified in this browser, in local storage: nobody else who signs in here is notified. */
const name = 'baton.notified-person';
const listeners = new Set<() => void>();

/**
 * `blocked`: the person refused the browser's prompt, which pages can't repeat.
 */
export type Choice = 'unavailable' | 'blocked' | 'off' | 'on';

/** Whether this browser notifies a person, also after another tab has changed it. */
export function useChoice(personId: string | undefined): Choice {
  return useSyncExternalStore(subscribe, () => choiceOf(personId));
}

function choiceOf(personId: string | undefined): Choice {
  if (!isAvailable()) return 'unavailable';
  if (Notification.permission === 'denied') return 'blocked';
  const isOn = Notification.permission === 'granted' && personId !== undefined && read() === personId;
  return isOn ? 'on' : 'off';
}

/** Browsers offer notifications and locks only at https addresses and on this machine. */
function isAvailable(): boolean {
  return 'Notification' in globalThis && 'locks' in navigator;
}

/**
 * Requests the permission of the browser, and notifies this person from now on.
 * @returns false if the person didn't give the permission, or this browser can't show notifications
 */
export async function turnOn(personId: string): Promise<boolean> {
  if (!mayConstruct()) return false;
  const isAllowed = (await Notification.requestPermission()) === 'granted';
  if (isAllowed) localStorage.setItem(name, personId);
  tell();
  return isAllowed;
}

export function turnOff(): void {
  localStorage.removeItem(name);
  tell();
}

/** Browsers of phones accept notifications of service workers only. Without the permission, this shows nothing. */
function mayConstruct(): boolean {
  if (Notification.permission === 'granted') return true;
  try {
    new Notification('Baton').close();
    return true;
  } catch {
    return false;
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function tell(): void {
  for (const listener of listeners) listener();
}

/** People change the permission in their browser and come back. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  for (const type of ['storage', 'focus']) addEventListener(type, listener);
  return () => {
    listeners.delete(listener);
    for (const type of ['storage', 'focus']) removeEventListener(type, listener);
  };
}
