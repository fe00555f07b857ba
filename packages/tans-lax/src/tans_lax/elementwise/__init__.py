"""Operations that work element by element, by family."""
