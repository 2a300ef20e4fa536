import { revealHidden } from '@baton/sdk';

/** A text without formatting. */
export function PlainText({ text }: { readonly text: string }) {
  return <div className="text">{revealHidden(text)}</div>;
}
