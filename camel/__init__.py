"""How agents talk: messages, answers, role-play sessions and the engines behind them."""
