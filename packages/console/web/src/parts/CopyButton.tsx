import { useState } from 'react';

/** Copies a text. If the browser denies access to the clipboard, the label prompts the person to select the text. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = () => {
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    written.then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  return (
    <button type="button" onClick={copy}>
      {state === 'copied' ? 'Copied' : state === 'failed' ? 'Not copied: select the text' : label}
    </button>
  );
}
