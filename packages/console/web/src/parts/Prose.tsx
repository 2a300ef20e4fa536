/** A text that a person or an agent wrote. */
export function Prose({ text }: { readonly text: string }) {
  return <div className="text">{text}</div>;
}
